/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What takes CAP_SYS_ADMIN, which the daemon gives up: uprobes, BPF programs by id, and perf events where
 * kernel.perf_event_paranoid is above 2. A second process, frbpf-admin, keeps that capability, does these things
 * alone, and hands the descriptors over. It takes no path.
 *
 * Whatever is asked here is first tried by this process itself. What is refused (EPERM, EACCES) is asked of
 * frbpf-admin, if there is one. If that dies it is started again; if it hangs it is ended and the call
 * fails. -EPIPE: it has died of the request, or for good.
 */
#ifndef FRBPF_ADMIN_ADMIN_H
#define FRBPF_ADMIN_ADMIN_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Start it, once, before there are threads and before CAP_SYS_ADMIN is given up. 0 also if we have no such
 * capability, so that it could do no more than we; or negative errno. It ends with the last process that has our end. */
int admin__start(void);

/* The process that serves now, to be told apart from those of others; 0: there is none. */
pid_t admin__pid(void);

/* perf_event_open(2) without a group, close-on-exec: a descriptor or negative errno. @flags: 0 or PERF_FLAG_PID_CGROUP. */
int admin__open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags);

/* An event at @offset of the regular file that @file has open for reading; @ref_ctr: where its semaphore is, 0: none. A
 * descriptor to attach a BPF program to, or negative errno; -EOPNOTSUPP: this kernel has no uprobes. */
int admin__open_uprobe(int file, uint64_t offset, uint64_t ref_ctr);

/* A loaded BPF program, or types, by id: a descriptor or negative errno. */
int admin__open_prog(uint32_t id);
int admin__open_btf(uint32_t id);
/* The id after *id. -ENOENT: that was the last. */
int admin__next_prog(uint32_t *id);

#endif
