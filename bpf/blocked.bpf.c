// SPDX-License-Identifier: GPL-2.0-only
/*
 * blocked: how long a task was in uninterruptible sleep, from the switch away from it to its
 * wake-up. Idle kernel threads do not count: they set TASK_NOLOAD. The subject is the task that
 * slept; `current` is the one that woke it.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "waits.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void wait_describe(struct match *m, const struct wait *wait)
{
	m->source = FRBPF_SOURCE_BLOCKED;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(bl_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct wait *wait;

	if (preempt || !task_is_blocked(prev))
		return 0;
	wait = wait_of(prev);
	if (wait)
		wait_begin(wait, prev, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(bl_wakeup, struct task_struct *task)
{
	struct wait *wait = bpf_task_storage_get(&waits, task, 0, 0);
	struct match *m;

	if (!wait || !wait->begin)
		return 0;
	m = wait_end(wait, task, bpf_ktime_get_ns());
	if (m)
		rules_run_for(m, task, bpf_get_current_task_btf());
	return 0;
}
