// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scope of rules that are confined to a tree of processes. A task in the scope has an entry in
 * the map. Its children get one before they run, and keep it when they are reparented. The entry is
 * task storage: it survives exec and ends with the task.
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

/*
 * The same tasks, for sources that know only the address or the number of a task. Both are keys;
 * the value is the address.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u64);
} scope_keys SEC(".maps");

__u64 missing; /* tasks that lack an entry because there was no memory or no room */

static __always_inline void scope_include(struct task_struct *task)
{
	__u64 address = (__u64)task, number = (__u32)task->pid;

	if (!bpf_task_storage_get(&scope, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) ||
	    bpf_map_update_elem(&scope_keys, &address, &address, BPF_ANY) ||
	    bpf_map_update_elem(&scope_keys, &number, &address, BPF_ANY))
		__sync_fetch_and_add(&missing, 1);
}

/* The address may be reused from now on. The number may belong to another task already. */
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

/* The current task is the parent. */
SEC("tp_btf/task_newtask")
int BPF_PROG(scope_newtask, struct task_struct *task)
{
	if (bpf_task_storage_get(&scope, bpf_get_current_task_btf(), 0, 0))
		scope_include(task);
	return 0;
}

/*
 * When a thread that is not the leader calls exec, it takes over the number of the leader, which
 * ends. Its old number is free.
 */
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

/* Add all threads of processes whose leader is in the scope. */
SEC("iter/task")
int scope_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task && bpf_task_storage_get(&scope, task->group_leader, 0, 0))
		scope_include(task);
	return 0;
}
