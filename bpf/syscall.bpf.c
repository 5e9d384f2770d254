// SPDX-License-Identifier: GPL-2.0-only
/*
 * syscall: how long a system call took, from entry to exit. The subject is the caller, which is
 * also `current`. A call that a signal interrupts and the kernel restarts is measured as two. Calls
 * of the 32-bit table are not looked at: their numbers mean something else.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "rules.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct call {
	__u64 begin; /* 0: no watched call is under way */
	__u64 nr;
};

/* Created when a task first makes a watched call: no lock is held there. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} calls SEC(".maps");

/*
 * Since when a call has been watched without a break; set by the daemon. An exit is seen only while
 * its call is watched, so a begin older than this belongs to an earlier call of that number.
 */
__u64 watched_since[FRBPF_KEY_MAX];

static __always_inline bool is_watched(__u32 half, long nr)
{
	/* the unsigned comparison also refuses -1: no call, or one that a tracer cancelled */
	return (unsigned long)nr < FRBPF_KEY_MAX && key_in(control.half[half].keys, nr);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sc_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task;
	struct call *call;

	if (!is_watched(rules_half(), nr))
		return 0;
	task = bpf_get_current_task_btf();
	if (syscall_is_compat(task))
		return 0;
	call = bpf_task_storage_get(&calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call) {
		__sync_fetch_and_add(&missing_storage, 1);
		return 0;
	}
	call->nr = nr;
	call->begin = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sc_exit, struct pt_regs *regs, long ret)
{
	__u32 half = rules_half();
	long nr = syscall_nr(regs);
	struct task_struct *task;
	struct call *call;
	struct match *m;
	__u64 begin, now;

	if (!is_watched(half, nr))
		return 0;
	task = bpf_get_current_task_btf();
	if (syscall_is_compat(task))
		return 0;
	call = bpf_task_storage_get(&calls, task, 0, 0);
	if (!call || !call->begin || call->nr != (__u64)nr)
		return 0;
	begin = call->begin;
	call->begin = 0;
	now = bpf_ktime_get_ns();
	if ((__s64)(now - begin) <= 0 || rules_below(half, now - begin))
		return 0;
	if (begin < watched_since[nr % FRBPF_KEY_MAX])
		return 0;
	m = match_begin(half, task, task, now, now - begin);
	if (!m)
		return 0;
	m->source = FRBPF_SOURCE_SYSCALL;
	m->key = nr;
	m->ret = ret;
	m->val[MATCH_SUBJECT][FRBPF_FIELD_RET][0] = ret;
	m->val[MATCH_SUBJECT][FRBPF_FIELD_SYSCALL][0] = nr;
	rules_run(m);
	return 0;
}
