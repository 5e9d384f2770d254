// SPDX-License-Identifier: GPL-2.0-only
/*
 * hardirq: how long one handler of an interrupt ran. Handlers that share a line are measured
 * separately. Work that they leave to a thread or softirq is not included. Interrupts without a
 * device handler (on x86 the timer of each CPU, and interprocessor interrupts) are not seen here.
 * There is no subject; `current` is the task that was interrupted.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "rules.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* When the handler on this CPU began; 0: none runs. Handlers do not interrupt each other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} begun SEC(".maps");

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(hi_entry, int irq, struct irqaction *action)
{
	__u32 zero = 0;
	__u64 *begin = bpf_map_lookup_elem(&begun, &zero);

	if (begin)
		*begin = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(hi_exit, int irq, struct irqaction *action, int ret)
{
	__u64 now = bpf_ktime_get_ns(), *begin, value;
	__u32 zero = 0, bank = rules_bank();
	struct measured s;
	struct match *m;

	begin = bpf_map_lookup_elem(&begun, &zero);
	if (!begin || !*begin)
		return 0;
	value = now - *begin;
	*begin = 0;
	if ((__s64)value <= 0 || rules_below(bank, value))
		return 0;
	s = (struct measured){ .now = now, .value = value, .bank = bank };
	s.self = is_own_task() && is_dump_written(now);
	m = match_begin_no_subject(&s);
	if (!m)
		return 0;
	m->source = FRBPF_SOURCE_HARDIRQ;
	m->val[MATCH_SUBJECT][FRBPF_HARDIRQ_IRQ][0] = irq;
	bpf_probe_read_kernel_str(m->val[MATCH_SUBJECT][FRBPF_HARDIRQ_NAME], FRBPF_COMM_LEN,
				  action->name);
	rules_run_for_cpu(m);
	return 0;
}
