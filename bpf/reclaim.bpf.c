// SPDX-License-Identifier: GPL-2.0-only
/*
 * reclaim: how long a task was kept from its work by reclaiming memory itself: because an allocation
 * found too little of it (direct reclaim), or because its memory cgroup reached memory.max, went over
 * memory.high, or is told to shrink. What kswapd does meanwhile, compaction, and the sleep by which
 * memory.high slows a task down are not in it. The subject is that task, which is also `current`.
 *
 * The table is made beforehand: this is no moment to ask for memory.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "rules.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MAX_TASKS 4096

struct stall {
	__u64 begin;
	__s32 order;
	__u32 gfp;
};

/* By thread id, of those who reclaim at this moment. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_TASKS);
	__type(key, __u32);
	__type(value, struct stall);
} stalls SEC(".maps");

static __always_inline void stall_begin(int order, gfp_t gfp)
{
	struct stall stall = { bpf_ktime_get_ns(), order, gfp };
	__u32 tid = bpf_get_current_pid_tgid();

	if (bpf_map_update_elem(&stalls, &tid, &stall, BPF_ANY))
		__sync_fetch_and_add(&missing_storage, 1);
}

static __always_inline void stall_end(unsigned long pages, enum frbpf_reclaim_scope scope)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tid = task->pid, half = rules_half();
	struct stall *stall = bpf_map_lookup_elem(&stalls, &tid);
	__u64(*val)[FRBPF_FIELD_WORDS];
	__u64 now, value;
	struct match *m;

	if (!stall)
		return;
	now = bpf_ktime_get_ns();
	value = now - stall->begin;
	if ((__s64)value > 0 && !rules_below(half, value)) {
		m = match_begin(half, task, task, now, value);
		if (m) {
			m->source = FRBPF_SOURCE_RECLAIM;
			match_check_self(m);
			val = m->val[MATCH_SUBJECT];
			val[FRBPF_RECLAIM_ORDER][0] = (__s64)stall->order;
			val[FRBPF_RECLAIM_GFP][0] = stall->gfp;
			val[FRBPF_RECLAIM_SCOPE][0] = scope;
			val[FRBPF_RECLAIM_PAGES][0] = pages;
			rules_run_for(m, task);
		}
	}
	bpf_map_delete_elem(&stalls, &tid);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(rc_begin, int order, gfp_t gfp)
{
	stall_begin(order, gfp);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(rc_end, unsigned long pages)
{
	stall_end(pages, FRBPF_RECLAIM_MACHINE);
	return 0;
}

/* Kernels without CONFIG_MEMCG lack these two. */
SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(rc_cgroup_begin, int order, gfp_t gfp)
{
	stall_begin(order, gfp);
	return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(rc_cgroup_end, unsigned long pages)
{
	stall_end(pages, FRBPF_RECLAIM_CGROUP);
	return 0;
}
