/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Since when each task waits, for sources that measure with the scheduler's tracepoints. The
 * storage is created by the iterator and at fork only: the other programs run under a run-queue
 * lock, where the allocator must not be called. A task's events are serialised by that lock: no
 * atomics.
 */
#ifndef FRBPF_WAITS_BPF_H
#define FRBPF_WAITS_BPF_H

#include "settle.bpf.h"

struct wait {
	__u64 begin; /* 0: the task does not wait */
	__u64 state; /* enum frbpf_state; where the source wants to know */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait);
} waits SEC(".maps");

SEC("iter/task")
int waits_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task)
		bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(waits_newtask, struct task_struct *task)
{
	bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

/* NULL is counted. */
static __always_inline struct wait *wait_of(struct task_struct *task)
{
	struct wait *wait = bpf_task_storage_get(&waits, task, 0, 0);

	if (!wait)
		__sync_fetch_and_add(&missing_storage, 1);
	return wait;
}

#endif
