/* SPDX-License-Identifier: GPL-2.0-only */
/* What a stack of the kernel says: what a task waits in, and on whose behalf a wake-up is made. */
#ifndef FRBPF_ANALYSE_WHY_WAIT_KIND_H
#define FRBPF_ANALYSE_WHY_WAIT_KIND_H

#include <stdbool.h>
#include <stddef.h>

enum wait_kind {
	WAIT_UNKNOWN,
	WAIT_THROTTLED, /* its cgroup's CPU quota is used up */
	WAIT_STOPPED,
	WAIT_FROZEN,
	WAIT_RECLAIM,
	WAIT_DIRTY, /* too many dirty pages: writers are slowed down */
	WAIT_MMAP_LOCK,
	WAIT_INODE_LOCK,
	WAIT_KERNEL_LOCK,
	WAIT_FILE_LOCK,
	WAIT_FUTEX,
	WAIT_FUSE,
	WAIT_NFS,
	WAIT_FSYNC,
	WAIT_JOURNAL,
	WAIT_PAGE_FAULT,
	WAIT_QUEUE, /* of a block device: no room, or a limit */
	WAIT_PAGE,
	WAIT_DISK,
	WAIT_PIPE,
	WAIT_SOCKET,
	WAIT_TTY,
	WAIT_EVENTFD,
	WAIT_EPOLL,
	WAIT_POLL,
	WAIT_SLEEP,
	WAIT_CHILD,
	WAIT_VFORK,
	WAIT_SIGNAL,
	WAIT_IPC,
	WAIT_IO_URING,
	WAIT_WORK, /* a thread that has nothing to do */
	WAIT_COMPLETION,
	WAIT_TASK_WORK, /* none: it was switched out when it had done deferred work of the kernel's, which is
			   also how a quota of 6.18 and later stops a task */
	WAIT_KINDS,
};

/* By whom a task was woken, as far as the waker's stack tells. */
enum wake_context {
	WAKE_TASK,
	WAKE_SIGNAL, /* a task, by a signal */
	WAKE_TIMER,
	WAKE_BLOCK, /* a request to a device has ended */
	WAKE_NET,   /* something came from the network */
	WAKE_IRQ,   /* another interrupt, or one without a stack */
	WAKE_OWNER, /* nobody yet: a task that is known to have what it waits for */
};

/* @names: functions of the kernel, the innermost first; NULL: one without a name. */
enum wait_kind wait_kind__of(const char *const *names, size_t n);
/* @in_irq: the event's own flags say that an interrupt or softirq ran. @softirqd: its task is ksoftirqd. */
enum wake_context wake_context__of(const char *const *names, size_t n, bool in_irq, bool softirqd);

/* Is it a cgroup's limit of requests to a device (io.max, io.cost) that lets them pass now? */
bool wait_kind__limits_io(const char *const *names, size_t n);

/* Does it try to get a lock whose owner runs, without sleeping? */
bool wait_kind__spins(const char *const *names, size_t n);

/* "a futex"; "" for WAIT_UNKNOWN. And the word for programs: "futex". */
const char *wait_kind__text(enum wait_kind k);
const char *wait_kind__word(enum wait_kind k);
/* "by a timer" ... */
const char *wake_context__word(enum wake_context c);

#endif
