// SPDX-License-Identifier: GPL-2.0-only
/*
 * runqlat: how long a runnable task waited for a CPU. The wait begins with a wake-up, or when the
 * task is switched out but still runnable; it ends with the switch to it. The subject is the task
 * that is switched in; at that tracepoint, `current` is still the previous one. A task that goes to
 * sleep needs no record: it has run, so wait_lasts() is false for an older wait.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "waits.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void wait_describe(struct match *m, const struct wait *wait)
{
	m->source = FRBPF_SOURCE_RUNQLAT;
}

static __always_inline void wait_runnable(struct task_struct *task, __u64 now)
{
	struct wait *wait = wait_of(task);

	/* A task preempted on its way to sleep has waited since then, not since the wake-up. */
	if (wait && !(wait->begin && wait_lasts(wait, task)))
		wait_begin(wait, task, now);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(rq_wakeup, struct task_struct *task)
{
	if (!task_is_on_cpu(task)) /* otherwise the task was woken before it slept */
		wait_runnable(task, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(rq_wakeup_new, struct task_struct *task)
{
	wait_runnable(task, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(rq_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();

	if (prev->pid && task_is_runnable(prev, preempt))
		wait_runnable(prev, now);
	wait_end_at_switch(prev, next, now);
	return 0;
}
