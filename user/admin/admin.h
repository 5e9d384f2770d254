/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls that need CAP_SYS_ADMIN, which the daemon gives up: uprobes, BPF programs by id, and perf
 * events where kernel.perf_event_paranoid is above 2. The process frbpf-admin keeps that
 * capability. It makes these calls and passes the descriptors back. It takes no path.
 *
 * Each function first makes the call itself. If the kernel refuses (EPERM, EACCES), it asks
 * frbpf-admin, if there is one. A server that dies is started again; one that hangs is killed, and
 * the call fails. -EPIPE: the server died of the request, or cannot be started again.
 */
#ifndef FRBPF_ADMIN_ADMIN_H
#define FRBPF_ADMIN_ADMIN_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Start frbpf-admin, once, before there are threads and before CAP_SYS_ADMIN is given up. Without
 * that capability nothing is started. 0 or negative errno. It ends when all copies of our end of
 * the socket are closed.
 */
int admin__start(void);

/* Pid of the process that serves now; 0: none. Rules use it to leave our own processes out. */
pid_t admin__pid(void);

/*
 * perf_event_open(2) without a group, close-on-exec. @flags: 0 or PERF_FLAG_PID_CGROUP. Returns a
 * descriptor or negative errno.
 */
int admin__open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags);

/*
 * Open a uprobe at @offset, bytes, of the regular file @file, which is open for reading. @ref_ctr:
 * offset of its semaphore; 0: none. Returns a descriptor to attach a BPF program to, or negative
 * errno; -EOPNOTSUPP: this kernel has no uprobes.
 */
int admin__open_uprobe(int file, uint64_t offset, uint64_t ref_ctr);

/* Open a loaded BPF program, or BTF, by its id. Returns a descriptor or negative errno. */
int admin__open_prog(uint32_t id);
int admin__open_btf(uint32_t id);
/* Replace *id by the next id of a program. -ENOENT: there is none. */
int admin__next_prog(uint32_t *id);

#endif
