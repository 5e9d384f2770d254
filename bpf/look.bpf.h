/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The steps of a look at pending events: see struct frbpf_look. A source walks its events. For each
 * that has not ended it calls:
 *
 *	look_reaches()	has it lasted long enough for any rule? Nearly all end here.
 *	look_match()	begins a match; the source adds its values, then checks again that the
 *			event has not ended
 *	look_run()	runs the rules, and sends the stack of the subject
 *
 * A look may miss an event: a walk over a hash table may skip entries while others are deleted, and
 * on some kernels a look-up may fail. So each event has the time of the last look that ran the
 * rules for it. An event that one look misses is found by the next.
 *
 * The programs of the same source may interrupt a look, so it has a struct match of its own. There
 * is one look at a time.
 */
#ifndef FRBPF_LOOK_BPF_H
#define FRBPF_LOOK_BPF_H

#include "rules.bpf.h"

/*
 * Defines the iterator @name_, which calls @each_ for all entries of the hash table @map_. It is an
 * iterator over maps, since some kernels refuse those over the elements of a map (Linux 6.18.44,
 * with EPERM). The last call of an iterator has no map.
 */
#define LOOK_OVER(name_, map_, each_)                                                              \
	SEC("iter/bpf_map")                                                                        \
	int name_(struct bpf_iter__bpf_map *ctx)                                                   \
	{                                                                                          \
		if (!ctx->map)                                                                     \
			bpf_for_each_map_elem(&map_, each_, NULL, 0);                              \
		return 0;                                                                          \
	}

/* Has an event that began at @begin lasted long enough for any rule? */
static __always_inline bool look_reaches(__u64 begin)
{
	const struct frbpf_bank *bank = &control.bank[look.bank & 1];
	__u64 value = look.now - begin;

	if ((__s64)value < 0) /* the event began after the look */
		value = 0;
	if (value <= bank->min_pending) {
		look_again_at(begin + bank->min_pending);
		return false;
	}
	if (value <= bank->max_pending)
		look_again_at(look.now); /* the event has yet to pass a higher threshold */
	return true;
}

/*
 * Call it before the rules run. @before: `seen` of the event as this look found it. A time before
 * the start of the event was written for an earlier event.
 */
static __always_inline void look_seen(struct match *m, __u64 before, __u64 *seen)
{
	m->seen = (__s64)(before - (m->now - m->value)) > 0 ? before : 0;
	*seen = look.now;
}

/* NULL: the subject is not in scope. */
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
	m->id = subject->pid; /* a source may set another id */
	m->is_pending = 1;
	return m;
}

/*
 * No task ran when the event matched, so the subject also stands for `current`. @seen: of the
 * event.
 */
static __always_inline void look_run(struct match *m, struct task_struct *subject, __u64 *seen)
{
	look_seen(m, *seen, seen);
	if (rules_run(m)) {
		match_tasks(m, m->bank, subject, subject);
		rules_run(m);
	}
	if (m->fired)
		stacks_send(m, subject, false);
}

#endif
