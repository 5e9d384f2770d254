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

/* See engine.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} scope SEC(".maps");

/* The same tasks, for those who have no more of one than its address or its number: both are keys,
 * the value is the address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u64);
} scope_keys SEC(".maps");

__u64 missing; /* tasks that should have an entry, and for which there was no memory */

static __always_inline void include(struct task_struct *task)
{
	__u64 address = (__u64)task, number = (__u32)task->pid;

	if (!bpf_task_storage_get(&scope, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) ||
	    bpf_map_update_elem(&scope_keys, &address, &address, BPF_ANY) ||
	    bpf_map_update_elem(&scope_keys, &number, &address, BPF_ANY))
		__sync_fetch_and_add(&missing, 1);
}

/* Its address, and long before its number, may be used again from now on. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(scope_free, struct task_struct *task)
{
	__u64 address = (__u64)task, number = (__u32)task->pid, *of;

	if (bpf_map_delete_elem(&scope_keys, &address))
		return 0;
	of = bpf_map_lookup_elem(&scope_keys, &number);
	if (of && *of == address)
		bpf_map_delete_elem(&scope_keys, &number);
	return 0;
}

/* The current task is the one that forks. */
SEC("tp_btf/task_newtask")
int BPF_PROG(scope_newtask, struct task_struct *task)
{
	if (bpf_task_storage_get(&scope, bpf_get_current_task_btf(), 0, 0))
		include(task);
	return 0;
}

/* A thread that is not the leader takes the leader's number when it executes a program: that of the
 * leader is about to go, and its own is free. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(scope_exec, struct task_struct *task, s32 old_pid)
{
	__u64 address = (__u64)task, number = (__u32)task->pid, old = (__u32)old_pid;

	if (old == number || !bpf_task_storage_get(&scope, task, 0, 0))
		return 0;
	bpf_map_delete_elem(&scope_keys, &old);
	if (bpf_map_update_elem(&scope_keys, &number, &address, BPF_ANY))
		__sync_fetch_and_add(&missing, 1);
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
