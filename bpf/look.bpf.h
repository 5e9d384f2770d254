/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a look at all that is pending is made of: see struct frbpf_look. A source walks what it has, and for each that
 * has not ended:
 *
 *	look_reaches()	has it lasted long enough for any rule? Ends nearly all of them.
 *	look_match()	a match; the source adds its own values, and looks once more whether it is still the same
 *	look_run()	the rules, and the subject's stack
 *
 * A look may be interrupted by what the same source measures, so it has a match of its own. There is one look at a time.
 */
#ifndef FRBPF_LOOK_BPF_H
#define FRBPF_LOOK_BPF_H

#include "rules.bpf.h"

struct frbpf_look look;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct match);
} look_matches SEC(".maps");

static __always_inline void look_again_at(__u64 time)
{
	if (time < look.next)
		look.next = time;
}

/* Of what has begun at @begin. */
static __always_inline bool look_reaches(__u64 begin)
{
	const struct frbpf_half *half = &control.half[look.half & 1];
	__u64 value = look.now - begin;

	if ((__s64)value < 0) /* since the look began */
		value = 0;
	if (value <= half->min_pending) {
		look_again_at(begin + half->min_pending);
		return false;
	}
	if (value <= half->max_pending)
		look_again_at(look.now); /* some rules have a higher threshold */
	return true;
}

/* NULL: the rules are not about this task. */
static __always_inline struct match *look_match(__u64 begin, __u32 key, struct task_struct *subject)
{
	struct measured s = {
		.now = look.now, .value = look.now - begin, .half = look.half & 1, .key = key
	};
	__u32 zero = 0;
	struct match *m;

	if (!in_scope(subject))
		return NULL;
	m = bpf_map_lookup_elem(&look_matches, &zero);
	if (!m)
		return NULL;
	s.self = (__u32)subject->tgid == control.self_tgid;
	match_measured(m, &s);
	m->cpu = task_cpu(subject);
	m->is_pending = 1;
	return m;
}

/* Nobody ran: the subject stands for `current`, too. */
static __always_inline void look_run(struct match *m, struct task_struct *subject)
{
	if (rules_run(m)) {
		match_tasks(m, m->half, subject, subject);
		rules_run(m);
	}
	if (m->fired)
		stacks_send(m, subject, false);
}

__noinline int look_end_rule(__u32 idx)
{
	struct frbpf_rule *rule = bpf_map_lookup_elem(&rules, &idx);
	struct frbpf_rule_state *st;
	__u32 slot;

	if (!rule || !(rule->flags & FRBPF_RULE_PENDING))
		return 0;
	slot = rule->slot;
	st = bpf_map_lookup_elem(&states, &slot);
	if (st)
		st->looked = look.now;
	return 0;
}

/* Run by the daemon behind a look at everything. */
SEC("raw_tp")
int look_end(void *ctx)
{
	__u32 n = control.half[look.half & 1].n_rules, i;

	for (i = 0; i < FRBPF_MAX_RULES; i++) {
		if (i >= n)
			break;
		look_end_rule(2 * i + (look.half & 1));
	}
	return 0;
}

#endif
