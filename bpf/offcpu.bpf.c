// SPDX-License-Identifier: GPL-2.0-only
/*
 * offcpu: how long a task was off its CPU, for any reason, from the switch away from it to the
 * switch back. The subject is the task that is switched in; at that tracepoint, `current` is still
 * the previous task.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "waits.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void wait_describe(struct match *m, const struct wait *wait)
{
	m->source = FRBPF_SOURCE_OFFCPU;
	m->val[MATCH_SUBJECT][FRBPF_FIELD_STATE][0] = wait->state;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(oc_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();
	struct wait *wait;

	if (prev->pid) {
		wait = wait_of(prev);
		if (wait) {
			wait_begin(wait, prev, now);
			wait->state = task_state(prev, preempt);
		}
	}
	wait_end_at_switch(prev, next, now);
	return 0;
}
