/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sources of events in user space share. Their programs may be preempted, and others of the
 * same source run on that CPU meanwhile, so they have no use for `scratch`, which is not made. A task
 * is in one of them at a time: nothing that they attach to runs within the kernel.
 */
#ifndef FRBPF_USER_PROBE_BPF_H
#define FRBPF_USER_PROBE_BPF_H

#include "gate.bpf.h"
#include "settle.bpf.h"

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

/* Of tasks that had an event which a rule needed it for. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct match);
} matches SEC(".maps");

static __always_inline bool current_in_scope(void)
{
	return control.scope == FRBPF_SCOPE_ALL || in_scope(bpf_get_current_task_btf());
}

/* A hit: numbers that it has of its own. */
struct probe_args {
	__u64 v[FRBPF_MAX_ARGS];
	__u64 n; /* of a static probe: how many it has */
	struct settle settle;
};

/* Of two numbers, a bit each: the first is less, they are equal, it is more; they have a bit in
 * common, they have none. */
#define ARG_RELATIONS 5

/* Which of these an operator takes. */
#define ARG_TAKES(op_, relations_) ((__u64)(relations_) << (op_)*ARG_RELATIONS)
static const __u64 arg_takes = ARG_TAKES(FRBPF_OP_EQ, 0x02) | ARG_TAKES(FRBPF_OP_NE, 0x05) |
			       ARG_TAKES(FRBPF_OP_LT, 0x01) | ARG_TAKES(FRBPF_OP_LE, 0x03) |
			       ARG_TAKES(FRBPF_OP_GT, 0x04) | ARG_TAKES(FRBPF_OP_GE, 0x06) |
			       ARG_TAKES(FRBPF_OP_BITS, 0x08) | ARG_TAKES(FRBPF_OP_NO_BITS, 0x10);

/* number_holds(), and equality. 1 or 0. */
static __always_inline __u64 arg_holds(__u64 val, __u8 op, __u64 wanted)
{
	__u64 differ = not_zero(val ^ wanted), common = not_zero(val & wanted), less, relations;

	less = (val & ~wanted) | (~(val ^ wanted) & (val - wanted)); /* as signed numbers */
	barrier_var(less);
	less >>= 63;
	relations =
		less | (differ ^ 1) << 1 | (differ ^ less) << 2 | common << 3 | (common ^ 1) << 4;
	return not_zero(arg_takes >> op * ARG_RELATIONS % 64 & relations);
}

/* Does the rule's condition hold, as far as the arguments tell? Without branches: for the verifier
 * it is one path, which need not be a function of its own. Calling one costs more than all this. */
static __always_inline __u32 args_hold(const struct frbpf_rule *rule, const struct probe_args *args)
{
	__u64 holds = !rule->n_nodes, may = holds, group_holds = 1, group_may = 1, other, is, end;
	__u32 i, arg;

	for (i = 0; i < FRBPF_MAX_NODES; i++) {
		const struct frbpf_node *node = &rule->nodes[i];

		if (i >= rule->n_nodes)
			break;
		arg = node->field - FRBPF_FIELD_ARG;
		other = not_zero(arg / FRBPF_MAX_ARGS); /* below that or above */
		is = arg_holds(args->v[arg % FRBPF_MAX_ARGS], node->op, node->val[0]);
		group_holds &= is & ~other;
		group_may &= is | other;
		end = node->flags / FRBPF_NODE_END & 1;
		holds |= group_holds & end;
		may |= group_may & end;
		group_holds |= end;
		group_may |= end;
		barrier_var(group_holds);
		barrier_var(group_may);
	}
	if (holds)
		return HOLDS;
	return may ? MAY_HOLD : HOLDS_NOT;
}

/* As settle_rule(), of a hit in scope: with a condition on the arguments, too. */
__noinline int settle_hit(__u32 i, struct probe_args *args)
{
	struct frbpf_rule *rule;
	__u32 idx, holds;

	if (!args)
		return SETTLE_END;
	idx = 2 * i + (args->settle.half & 1);
	rule = bpf_map_lookup_elem(&rules, &idx);
	if (!rule || !(rule->flags & FRBPF_RULE_HIT))
		return SETTLE_END;
	holds = args_hold(rule, args);
	if (holds == HOLDS_NOT)
		return SETTLE_NEXT;
	args->settle.self = is_own_task();
	if (holds == HOLDS && settle_match(idx, rule, &args->settle))
		return SETTLE_NEXT;
	args->settle.first = i;
	return SETTLE_MATCH;
}

/* As rules_settle(). */
static __always_inline bool hit_settles(struct probe_args *args)
{
	__u32 n_rules = control.half[args->settle.half & 1].n_rules, i;
	int ret;

	for (i = 0; i < FRBPF_MAX_RULES; i++) {
		if (i >= n_rules)
			break;
		ret = settle_hit(i, args);
		if (ret)
			return ret == SETTLE_MATCH;
	}
	return false;
}

static __always_inline void match_args(struct match *m, const struct probe_args *args)
{
	for (int i = 0; i < FRBPF_MAX_ARGS; i++)
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][0] = args->v[i];
}

/* Of the task that runs, for rules that are not settled. NULL: it has no storage, which is counted. */
static __always_inline struct match *user_match(const struct settle *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct match *m;

	m = bpf_task_storage_get(&matches, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!m) {
		__sync_fetch_and_add(&missing_storage, 1);
		settle_without(s);
		return NULL;
	}
	match_clear(m, s);
	match_tasks(m, s->half, task, task);
	return m;
}

/* As match_begin(), of the task that runs. */
static __always_inline struct match *user_match_begin(struct settle *s)
{
	if (!current_in_scope())
		return NULL;
	s->self = is_own_task();
	return rules_settle(s) ? user_match(s) : NULL;
}

/* A hit in scope. */
static __always_inline void run_hit(struct probe_args *args, __u32 source)
{
	struct match *m;

	if (!args->settle.now)
		args->settle.now = bpf_ktime_get_ns();
	m = user_match(&args->settle);
	if (!m)
		return;
	m->source = source;
	m->n_args = args->n;
	match_args(m, args);
	rules_run_for(m, bpf_get_current_task_btf());
}

#endif
