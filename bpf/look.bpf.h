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

/* Of what has begun at @begin. */
static __always_inline bool look_reaches(__u64 begin)
{
	const struct frbpf_bank *bank = &control.bank[look.bank & 1];
	__u64 value = look.now - begin;

	if ((__s64)value < 0) /* since the look began */
		value = 0;
	if (value <= bank->min_pending) {
		look_again_at(begin + bank->min_pending);
		return false;
	}
	if (value <= bank->max_pending)
		look_again_at(look.now); /* some rules have a higher threshold */
	return true;
}

/* NULL: the rules are not about this task. */
static __always_inline struct match *look_match(__u64 begin, __u32 key, struct task_struct *subject)
{
	struct measured s = {
		.now = look.now, .value = look.now - begin, .bank = look.bank & 1, .key = key
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
		match_tasks(m, m->bank, subject, subject);
		rules_run(m);
	}
	if (m->fired)
		stacks_send(m, subject, false);
}

#endif
