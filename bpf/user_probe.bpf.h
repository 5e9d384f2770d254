/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the sources of events in user space. Their programs may be preempted by programs of the
 * same source on the same CPU. So `match_room` would not be safe, and does not exist here. No
 * program moves to another CPU while it runs.
 */
#ifndef FRBPF_USER_PROBE_BPF_H
#define FRBPF_USER_PROBE_BPF_H

#include "prefilter.bpf.h"

/* Load a register at a constant offset. The compiler must not merge several of these loads. */
#define REGS_WORD(ctx_, offset_)                                                                   \
	({                                                                                         \
		__u64 _word;                                                                       \
		asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(_word) : "r"(ctx_), "i"(offset_));    \
		_word;                                                                             \
	})

#define REGS_CASE(i_)                                                                              \
	case i_:                                                                                   \
		return REGS_WORD(ctx, (i_)*8)

/*
 * The register at @offset in struct pt_regs of user space (ABI, asm/ptrace.h); 0: there is none.
 * The verifier accepts only constant offsets, hence the switch.
 */
static __always_inline __u64 user_reg(struct pt_regs *ctx, __u32 offset)
{
	switch (offset / 8) {
		REGS_CASE(0);
		REGS_CASE(1);
		REGS_CASE(2);
		REGS_CASE(3);
		REGS_CASE(4);
		REGS_CASE(5);
		REGS_CASE(6);
		REGS_CASE(7);
		REGS_CASE(8);
		REGS_CASE(9);
		REGS_CASE(10);
		REGS_CASE(11);
		REGS_CASE(12);
		REGS_CASE(13);
		REGS_CASE(14);
		REGS_CASE(15);
		REGS_CASE(16);
		REGS_CASE(17);
		REGS_CASE(18);
		REGS_CASE(19);
#if defined(__TARGET_ARCH_arm64)
		REGS_CASE(20);
		REGS_CASE(21);
		REGS_CASE(22);
		REGS_CASE(23);
		REGS_CASE(24);
		REGS_CASE(25);
		REGS_CASE(26);
		REGS_CASE(27);
		REGS_CASE(28);
		REGS_CASE(29);
		REGS_CASE(30);
		REGS_CASE(31);
#endif
	}
	return 0;
}

/* Read @size bytes, at most 8, from the memory of the program; 0 if it cannot be read. */
static __always_inline __u64 user_memory(__u64 at, __u32 size)
{
	__u64 v[2] = { 0, 0 }; /* for the largest @size that the verifier assumes */

	size &= sizeof(v) - 1;
	barrier_var(size);
	bpf_probe_read_user(v, size & (sizeof(v) - 1), (void *)at);
	return v[0];
}

/* Programs on a CPU may preempt one another, so each CPU has several struct match. */
#define USER_MATCHES 4

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, USER_MATCHES);
	__type(key, __u32);
	__type(value, struct match);
} user_matches SEC(".maps");

static __always_inline bool current_in_scope(void)
{
	return control.scope == FRBPF_SCOPE_ALL || in_scope(bpf_get_current_task_btf());
}

/*
 * Get a struct match for this program alone, until user_match_end(). NULL: all are in use; this is
 * counted.
 */
static __always_inline struct match *user_match(const struct measured *s)
{
	struct match *m = NULL;
	__u32 i, at;

	for (i = 0; i < USER_MATCHES; i++) {
		at = i;
		m = bpf_map_lookup_elem(&user_matches, &at);
		if (m && !__sync_val_compare_and_swap(&m->busy, 0, 1)) {
			match_measured(m, s);
			return m;
		}
	}
	__sync_fetch_and_add(&unmeasured, 1);
	return NULL;
}

/* Give @m back: other programs may use it now. */
static __always_inline void user_match_end(struct match *m)
{
	barrier();
	*(volatile __u32 *)&m->busy = 0;
}

/*
 * Begin a match with the current task as subject. NULL: not in scope, or no struct match is free.
 */
static __always_inline struct match *user_match_begin(struct measured *s)
{
	if (!current_in_scope())
		return NULL;
	s->self = is_own_task();
	return user_match(s);
}

/* The same for a hit, which the prefilter may refuse. */
static __always_inline struct match *user_match_begin_hit(struct measured *s)
{
	if (!prefilter_takes_current(s->bank) || !current_in_scope() ||
	    prefilter_suppresses(s->bank))
		return NULL;
	s->self = is_own_task();
	return user_match(s);
}

static __always_inline void user_match_run(struct match *m)
{
	struct task_struct *task = bpf_get_current_task_btf();

	rules_run_for(m, task, task);
	user_match_end(m);
}

#endif
