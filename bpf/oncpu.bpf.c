// SPDX-License-Identifier: GPL-2.0-only
/*
 * oncpu: the time that a task runs, in pieces, for rules on a share of time. A piece ends when the
 * scheduler switches away from the task. A piece of PIECE or more also ends when the scheduler
 * updates the runtime of the task, as at a tick. The subject is that task, which is also `current`.
 * Interrupts are included; the idle task is not.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "rules.bpf.h"

#define PIECE 5000000 /* ns: shorter pieces are not counted before the switch */

char LICENSE[] SEC("license") = "GPL";

/* The end of the last counted piece on this CPU, ns; 0: none was counted yet. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} counted SEC(".maps");

static __always_inline void piece_end(struct task_struct *task, __u64 *begin, __u64 now)
{
	__u64 value = now - *begin;
	__u32 bank = rules_bank();
	struct measured s;
	struct match *m;

	if (!*begin || (__s64)value <= 0 || rules_below(bank, value))
		return;
	s = (struct measured){ .now = now, .value = value, .bank = bank };
	m = match_begin(&s, task);
	if (!m)
		return;
	m->source = FRBPF_SOURCE_ONCPU;
	rules_run_for(m, task, task);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns(), *begin;
	__u32 zero = 0;

	begin = bpf_map_lookup_elem(&counted, &zero);
	if (!begin)
		return 0;
	if (prev->pid)
		piece_end(prev, begin, now);
	*begin = now;
	return 0;
}

SEC("tp_btf/sched_stat_runtime")
int BPF_PROG(on_runtime, struct task_struct *task)
{
	__u64 now, *begin;
	__u32 zero = 0;

	/* other CPUs may update the runtime of a task that runs elsewhere */
	if (task != bpf_get_current_task_btf() || !task->pid)
		return 0;
	begin = bpf_map_lookup_elem(&counted, &zero);
	if (!begin || !*begin)
		return 0;
	now = bpf_ktime_get_ns();
	if (now - *begin < PIECE)
		return 0;
	piece_end(task, begin, now);
	*begin = now;
	return 0;
}
