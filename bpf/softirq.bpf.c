// SPDX-License-Identifier: GPL-2.0-only
/*
 * softirq: how long one run of a vector (net_rx, timer ...) took for all of its pending work on
 * that CPU, including interrupts in between. There is no subject; `current` is the task that was
 * interrupted, or ksoftirqd.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "compat.bpf.h"
#include "own_data.bpf.h"
#include "rules.bpf.h"

#define SOFTIRQ_BLOCK 4 /* include/linux/interrupt.h */

char LICENSE[] SEC("license") = "GPL";

/* The run of a watched vector on this CPU. Vectors do not interrupt each other. */
struct vector_run {
	__u64 begin; /* 0: none runs */
	__u32 vec;
	__u32 ours; /* it completed a block request of our dump */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vector_run);
} runs SEC(".maps");

SEC("tp_btf/softirq_entry")
int BPF_PROG(si_entry, unsigned int vec)
{
	struct vector_run *run;
	__u32 zero = 0;

	if (vec >= FRBPF_SOFTIRQ_VECS || !key_in(control.bank[rules_bank()].watched_keys, vec))
		return 0;
	run = bpf_map_lookup_elem(&runs, &zero);
	if (!run)
		return 0;
	run->vec = vec;
	run->ours = 0;
	run->begin = bpf_ktime_get_ns();
	return 0;
}

/* Note whether a run of the block vector completes a request of our dump. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(si_request_end, struct request *rq)
{
	__u32 zero = 0;
	struct vector_run *run = bpf_map_lookup_elem(&runs, &zero);

	if (!run || !run->begin || run->vec != SOFTIRQ_BLOCK || run->ours ||
	    !is_dump_written(run->begin))
		return 0;
	run->ours = is_own_disk(request_dev(rq)) && bio_may_be_ours((__u64)BPF_CORE_READ(rq, bio));
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(si_exit, unsigned int vec)
{
	__u32 zero = 0, bank = rules_bank();
	struct vector_run *run = bpf_map_lookup_elem(&runs, &zero);
	__u64 now, value;
	struct measured s;
	struct match *m;

	/* a run that is not watched any more must end here, too: the next one must not find it */
	if (!run || !run->begin || vec >= FRBPF_SOFTIRQ_VECS)
		return 0;
	now = bpf_ktime_get_ns();
	value = now - run->begin;
	run->begin = 0;
	if ((__s64)value <= 0 || rules_below(bank, value))
		return 0;
	s = (struct measured){ .now = now, .value = value, .bank = bank, .key = vec };
	s.self = (run->ours || is_own_task()) && is_dump_written(now);
	m = match_begin_no_subject(&s);
	if (!m)
		return 0;
	m->source = FRBPF_SOURCE_SOFTIRQ;
	m->val[MATCH_SUBJECT][FRBPF_SOFTIRQ_VEC][0] = vec;
	rules_run_for_cpu(m);
	return 0;
}
