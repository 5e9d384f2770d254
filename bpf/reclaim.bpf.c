// SPDX-License-Identifier: GPL-2.0-only
/*
 * reclaim: how long a task spent reclaiming memory itself. Either an allocation found too little
 * free memory (direct reclaim), or a memory cgroup reached memory.max, exceeded memory.high or was
 * told to shrink. Not included are the work of kswapd, compaction, and the sleep
 * by which memory.high throttles a task. The subject is that task, which is also `current`.
 *
 * The table is preallocated: during reclaim, memory is short.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "look.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MAX_STALLS    8192 /* a power of two */
#define STALL_BUCKETS 8

struct stall {
	__u64 begin;
	__u32 tid; /* 0: free */
	__s32 order;
	__u32 gfp;
	__u64 seen; /* ns: when the last look saw it */
} __attribute__((aligned(32)));

/*
 * The tasks that reclaim now, each in one of a few buckets chosen by its thread id. Stalls are
 * rare, so cache misses are the main cost: a stall fits in one cache line. A hash map touches its
 * buckets, a free list and two elements, and took 636 ns a stall. This array takes 275 ns, and
 * empty programs 136 ns.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* begins at a page */
	__uint(max_entries, MAX_STALLS);
	__type(key, __u32);
	__type(value, struct stall);
} stalls SEC(".maps");

static __always_inline struct stall *stall_at(__u32 tid, __u32 i)
{
	__u32 at = ((tid * 0x9e3779b1U >> 16) + i) % MAX_STALLS;

	return bpf_map_lookup_elem(&stalls, &at);
}

static __always_inline __u32 stall_owner(const struct stall *s)
{
	return *(volatile const __u32 *)&s->tid;
}

/* Begin a stall of the current task. If one has begun already, the new one replaces it. */
static __always_inline void stall_begin(int order, gfp_t gfp)
{
	__u32 tid = bpf_get_current_pid_tgid(), owner, i;
	struct stall *s;

	for (i = 0; i < STALL_BUCKETS; i++) {
		s = stall_at(tid, i);
		if (!s)
			return;
		owner = stall_owner(s);
		if (owner == tid || (!owner && !__sync_val_compare_and_swap(&s->tid, 0, tid))) {
			s->order = order;
			s->gfp = gfp;
			s->begin = bpf_ktime_get_ns();
			return;
		}
	}
	__sync_fetch_and_add(&unmeasured, 1);
}

static __always_inline struct stall *stall_of(__u32 tid)
{
	struct stall *s;
	__u32 i;

	for (i = 0; i < STALL_BUCKETS; i++) {
		s = stall_at(tid, i);
		if (!s || stall_owner(s) == tid)
			return s;
	}
	return NULL;
}

static __always_inline void stall_end(unsigned long pages, enum frbpf_reclaim_scope scope)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tid = task->pid, bank = rules_bank();
	struct stall *stall = stall_of(tid);
	__u64(*val)[FRBPF_FIELD_WORDS];
	__u64 now, value;
	struct measured s;
	struct match *m;

	if (!stall)
		return;
	now = bpf_ktime_get_ns();
	value = now - stall->begin;
	if ((__s64)value > 0 && !rules_below(bank, value)) {
		s = (struct measured){ .now = now, .value = value, .bank = bank };
		m = match_begin(&s, task);
		if (m) {
			m->source = FRBPF_SOURCE_RECLAIM;
			m->id = tid;
			val = m->val[MATCH_SUBJECT];
			val[FRBPF_RECLAIM_ORDER][0] = (__s64)stall->order;
			val[FRBPF_RECLAIM_GFP][0] = stall->gfp;
			val[FRBPF_RECLAIM_SCOPE][0] = scope;
			val[FRBPF_RECLAIM_PAGES][0] = pages;
			rules_run_for(m, task, task);
		}
	}
	stall->begin = 0; /* a look must not take this stall for one of the next owner */
	/* a full barrier: the writes of the next owner come after the reads here */
	__sync_val_compare_and_swap(&stall->tid, tid, 0);
}

/* Look at stalls that have not ended: see look.bpf.h. Scope and pages are known only at the end. */
SEC("iter/task")
int rc_look(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u64(*val)[FRBPF_FIELD_WORDS];
	struct stall *stall;
	struct match *m;
	__u64 begin;

	if (!task)
		return 0;
	stall = stall_of(task->pid);
	begin = stall ? *(volatile __u64 *)&stall->begin : 0;
	if (!begin || !look_reaches(begin))
		return 0;
	m = look_match(begin, 0, task);
	if (!m)
		return 0;
	m->source = FRBPF_SOURCE_RECLAIM;
	val = m->val[MATCH_SUBJECT];
	val[FRBPF_RECLAIM_ORDER][0] = (__s64)stall->order;
	val[FRBPF_RECLAIM_GFP][0] = stall->gfp;
	if (stall_owner(stall) == (__u32)task->pid && *(volatile __u64 *)&stall->begin == begin)
		look_run(m, task, &stall->seen);
	return 0;
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

/* Kernels without CONFIG_MEMCG lack these two tracepoints. */
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
