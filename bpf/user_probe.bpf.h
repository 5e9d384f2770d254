/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sources of events in user space share. Their programs may be preempted, and others of the
 * same source run on that CPU meanwhile, so they have no use for `scratch`, which is not made. None of them moves to
 * another CPU while it runs.
 */
#ifndef FRBPF_USER_PROBE_BPF_H
#define FRBPF_USER_PROBE_BPF_H

#include "prefilter.bpf.h"

/* A word of the registers, at a constant offset: the compiler must not make one load of several. */
#define REGS_WORD(ctx_, offset_)                                                                   \
	({                                                                                         \
		__u64 _word;                                                                       \
		asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(_word) : "r"(ctx_), "i"(offset_));    \
		_word;                                                                             \
	})

#define REGS_CASE(i_)                                                                              \
	case i_:                                                                                   \
		return REGS_WORD(ctx, (i_)*8)

/* The word of the registers at @offset, as user space has struct pt_regs: ABI, asm/ptrace.h. The
 * verifier takes no offset that is not constant. 0: there is none. */
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

/* @size bytes of the program's memory, at most 8. What cannot be read is 0. */
static __always_inline __u64 user_memory(__u64 at, __u32 size)
{
	__u64 v[2] = { 0, 0 }; /* as large as the verifier takes @size to be */

	size &= sizeof(v) - 1;
	barrier_var(size);
	bpf_probe_read_user(v, size & (sizeof(v) - 1), (void *)at);
	return v[0];
}

/* Programs of one CPU that were preempted at the same time, each by the next, have one each. */
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

/* One for this program alone. To be given back: user_match_end(). NULL, which is counted: there is none left. */
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
	__sync_fetch_and_add(&missing_storage, 1);
	return NULL;
}

/* Behind it, @m is somebody else's. */
static __always_inline void user_match_end(struct match *m)
{
	barrier();
	*(volatile __u32 *)&m->busy = 0;
}

/* Of the task that runs. */
static __always_inline struct match *user_match_begin(struct measured *s)
{
	if (!current_in_scope())
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
