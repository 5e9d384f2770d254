/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sources of events in user space share. Their programs may be preempted since Linux 6.0
 * (8c7dcb84e3b7 "bpf: implement sleepable uprobes by chaining gps"): others of the same source may
 * run on that CPU meanwhile, so they have no use for `scratch`, which is not made. A task is in one
 * of them at a time: nothing that they attach to runs within the kernel.
 */
#ifndef FRBPF_USER_PROBE_BPF_H
#define FRBPF_USER_PROBE_BPF_H

#include "rules.bpf.h"

/* Of tasks that had an event above the lowest threshold. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct match);
} matches SEC(".maps");

/* As match_begin(), of the task that runs. */
static __always_inline struct match *user_match(__u32 half, __u64 now, __u64 value)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct match *m;

	if (!in_scope(task))
		return NULL;
	m = bpf_task_storage_get(&matches, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!m) {
		__sync_fetch_and_add(&missing_storage, 1);
		return NULL;
	}
	match_clear(m, half, now, value);
	match_tasks(m, half, task, task);
	return m;
}

#endif
