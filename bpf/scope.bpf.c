// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whom the rules are about when that is a tree of processes: a task that is in has an entry in the
 * map, and what it forks gets one before it runs, whoever becomes its parent later. The entry is the
 * task's own: it outlives exec and ends with the task.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* See rules.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} scope SEC(".maps");

__u64 missing; /* tasks that should have an entry, and for which there was no memory */

static __always_inline void include(struct task_struct *task)
{
	if (!bpf_task_storage_get(&scope, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
		__sync_fetch_and_add(&missing, 1);
}

/* The current task is the one that forks. */
SEC("tp_btf/task_newtask")
int BPF_PROG(scope_newtask, struct task_struct *task)
{
	if (bpf_task_storage_get(&scope, bpf_get_current_task_btf(), 0, 0))
		include(task);
	return 0;
}

/* The threads of processes whose leader is in. */
SEC("iter/task")
int scope_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task && bpf_task_storage_get(&scope, task->group_leader, 0, 0))
		include(task);
	return 0;
}
