// SPDX-License-Identifier: GPL-2.0-only
/*
 * softirq: how long one run of a vector (net_rx, timer ...) took for all of its pending work on
 * that CPU, including interrupts in between. There is no subject; `current` is the task that was
 * interrupted, or ksoftirqd.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "rules.bpf.h"

#define SOFTIRQ_BLOCK 4 /* include/linux/interrupt.h */

char LICENSE[] SEC("license") = "GPL";

/* When a watched vector began on this CPU; 0: none runs. They do not interrupt each other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} begun SEC(".maps");

SEC("tp_btf/softirq_entry")
int BPF_PROG(si_entry, unsigned int vec)
{
	__u32 zero = 0;
	__u64 *begin;

	if (vec >= FRBPF_SOFTIRQ_VECS || !key_in(control.bank[rules_bank()].keys, vec))
		return 0;
	begin = bpf_map_lookup_elem(&begun, &zero);
	if (begin)
		*begin = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(si_exit, unsigned int vec)
{
	__u32 zero = 0, bank = rules_bank();
	__u64 *begin = bpf_map_lookup_elem(&begun, &zero), now, value;
	struct measured s;
	struct match *m;

	/* cleared even if it is not watched any more: the next one must not find it */
	if (!begin || !*begin || vec >= FRBPF_SOFTIRQ_VECS)
		return 0;
	now = bpf_ktime_get_ns();
	value = now - *begin;
	*begin = 0;
	if ((__s64)value <= 0 || rules_below(bank, value))
		return 0;
	s = (struct measured){ .now = now, .value = value, .bank = bank, .key = vec };
	/* requests of a dump end in this vector; others are ours if they interrupt us */
	s.self = (vec == SOFTIRQ_BLOCK || is_own_task()) && is_dump_written(now);
	m = match_of_cpu(&s);
	if (!m)
		return 0;
	m->source = FRBPF_SOURCE_SOFTIRQ;
	m->val[MATCH_SUBJECT][FRBPF_SOFTIRQ_VEC][0] = vec;
	rules_run_for_cpu(m);
	return 0;
}
