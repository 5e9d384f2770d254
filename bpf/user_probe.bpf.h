/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sources of events in user space share. Their programs may be preempted, and others of the
 * same source run on that CPU meanwhile, so they have no use for `scratch`, which is not made. A task
 * is in one of them at a time: nothing that they attach to runs within the kernel.
 */
#ifndef FRBPF_USER_PROBE_BPF_H
#define FRBPF_USER_PROBE_BPF_H

#include "gate.bpf.h"
#include "rules.bpf.h"

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

/* Of tasks that had an event above the lowest threshold. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct match);
} matches SEC(".maps");

/* Numbers that an event has of its own. */
struct probe_args {
	__u64 v[FRBPF_MAX_ARGS];
};

__noinline int arg_holds(__u64 val, __u32 op, __u64 wanted)
{
	if (op == FRBPF_OP_EQ || op == FRBPF_OP_NE)
		return (val == wanted) == (op == FRBPF_OP_EQ);
	return number_holds(val, op, wanted);
}

/* Could the condition of a rule hold, as far as the arguments tell? */
__noinline int rule_may_hold(__u32 idx, const struct probe_args *args)
{
	struct frbpf_rule *rule = bpf_map_lookup_elem(&rules, &idx);
	bool all = true;
	__u32 i, arg;

	if (!rule || !args)
		return 0;
	if (!rule->n_nodes)
		return 1;
	for (i = 0; i < FRBPF_MAX_NODES; i++) {
		const struct frbpf_node *node = &rule->nodes[i];

		if (i >= rule->n_nodes)
			break;
		arg = node->field - FRBPF_FIELD_ARG;
		if (all && arg < FRBPF_MAX_ARGS && !arg_holds(args->v[arg], node->op, node->val[0]))
			all = false;
		if (node->flags & FRBPF_NODE_END) {
			if (all)
				return 1;
			all = true;
		}
	}
	return 0;
}

/* Of events that are seen without a threshold, most end here: what costs is to learn of the task. */
static __always_inline bool rules_may_hold(__u32 half, const struct probe_args *args)
{
	__u32 n_rules = control.half[half].n_rules, i;

	for (i = 0; i < FRBPF_MAX_RULES; i++) {
		if (i >= n_rules)
			break;
		if (rule_may_hold(2 * i + half, args))
			return true;
	}
	return false;
}

static __always_inline void match_args(struct match *m, const struct probe_args *args)
{
	for (int i = 0; i < FRBPF_MAX_ARGS; i++)
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][0] = args->v[i];
}

/* As match_begin(), of the task that runs. NULL: it is out of scope, or has no storage, which is
 * counted. */
static __always_inline struct match *user_match(__u32 half, __u64 now, __u64 value)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct match *m;

	if (!in_scope(task))
		return NULL;
	m = bpf_task_storage_get(&matches, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!m) {
		__sync_fetch_and_add(&missing_storage, 1);
		return NULL;
	}
	match_clear(m, half, now, value);
	match_tasks(m, half, task, task);
	return m;
}

#endif
