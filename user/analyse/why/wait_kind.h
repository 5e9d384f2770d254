/* SPDX-License-Identifier: GPL-2.0-only */
/* Classifies kernel stacks: what a task waits for, and on whose behalf a wake-up is made. */
#ifndef FRBPF_ANALYSE_WHY_WAIT_KIND_H
#define FRBPF_ANALYSE_WHY_WAIT_KIND_H

#include <stdbool.h>
#include <stddef.h>

enum wait_kind {
	WAIT_UNKNOWN,
	WAIT_THROTTLED, /* the CPU quota of its cgroup is used up */
	WAIT_STOPPED,	/* by a signal */
	WAIT_TRACED,	/* stopped for its tracer */
	WAIT_FROZEN,
	WAIT_RECLAIM,
	WAIT_OVER_HIGH, /* its cgroup has more memory than memory.high or memory.swap.high */
	WAIT_DIRTY,	/* too many dirty pages: the writer is throttled */
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
	WAIT_QUEUE, /* a full queue of a block device, or a limit */
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
	WAIT_WORK, /* an idle worker thread */
	WAIT_COMPLETION,
	/*
	 * not a wait: switched out after deferred work of the kernel (task_work). Since 6.18 a CPU
	 * quota stops a task this way, too.
	 */
	WAIT_TASK_WORK,
	WAIT_KINDS,
};

/* The kind of waker, as far as the waker's stack tells */
enum wake_context {
	WAKE_TASK,
	WAKE_SIGNAL, /* a task, by a signal */
	WAKE_TIMER,
	WAKE_BLOCK,	   /* completion of a request to a device */
	WAKE_NET,	   /* a packet from the network */
	WAKE_IRQ,	   /* another interrupt, or one without a stack */
	WAKE_OWNER,	   /* not woken yet: who is the owner of what the task waits for */
	WAKE_OWNER_BEFORE, /* the same, but the owner when the wait began */
};

/* What a task waits for, by frbpf:lock_wait; the values are in its format. */
enum lock_kind {
	LOCK_UNKNOWN,
	LOCK_MUTEX,
	LOCK_RWSEM_READ,
	LOCK_RWSEM_WRITE,
	LOCK_RWSEM_READERS, /* to write; its readers have it */
	LOCK_SPINLOCK,
	LOCK_RWLOCK_READ,
	LOCK_RWLOCK_WRITE,
	LOCK_PERCPU_READ,
	LOCK_PERCPU_WRITE,
	LOCK_RT_MUTEX,
	LOCK_SEMAPHORE,
	LOCK_FUTEX,
	LOCK_FUTEX_PI,
	LOCK_FLOCK,
	LOCK_POSIX,
	LOCK_MUTEX_SPUN, /* the task got it after a spin */
	LOCK_KINDS,
};

/*
 * What a task waits for, by its stack. @names: kernel functions, the innermost first; NULL: a
 * function without a name. @in_lock: an event says that the task waits for a lock of the kernel.
 * @in_lock counts only if the stack lacks the functions of the scheduler. The kernel leaves these,
 * and those of locks, out of the stacks of offcpu-time.
 */
enum wait_kind wait_kind__of(const char *const *names, size_t n, bool in_lock);
/* Correct @k by the lock that an event names: locks of inodes and of address spaces are rwsems. */
enum wait_kind wait_kind__with_lock(enum wait_kind k, enum lock_kind lock);
/*
 * On whose behalf a wake-up is made, by the stack of the waker. @in_irq: the flags of the event say
 * that an interrupt or softirq ran. @softirqd: the task is ksoftirqd.
 */
enum wake_context wake_context__of(const char *const *names, size_t n, bool in_irq, bool softirqd);

/* Did a cgroup's I/O limit (io.max, io.cost) hold the requests that may pass now? */
bool wait_kind__limits_io(const char *const *names, size_t n);

/* Does the stack show that the task spins for a lock while the owner runs? */
bool wait_kind__spins(const char *const *names, size_t n);

/* Text for people: "a futex"; "" for WAIT_UNKNOWN. Word for programs: "futex". */
const char *wait_kind__text(enum wait_kind k);
const char *wait_kind__word(enum wait_kind k);
/* Text for people: "a mutex of the kernel"; "" if the kind of wait says enough. */
const char *lock_kind__text(enum lock_kind k);
/* Word for programs: "mutex"; NULL: unknown. */
const char *lock_kind__word(enum lock_kind k);
/* Is it a mutex, semaphore or spinlock of the kernel, not a file lock? */
bool lock_kind__is_of_kernel(enum lock_kind k);
/* Does a task only spin for this lock? */
bool lock_kind__spins(enum lock_kind k);
/* Does the event mean that the task has got the lock, after a spin? */
bool lock_kind__is_taken(enum lock_kind k);
/* Can a task that waits for @k wait for this lock? */
bool wait_kind__is_for(enum wait_kind k, enum lock_kind lock);
/* "by a timer" ... */
const char *wake_context__word(enum wake_context c);

#endif
