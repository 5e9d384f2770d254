/* SPDX-License-Identifier: GPL-2.0-only */
/* Pending events that fired a rule: they are followed until they end, and the end is reported. */
#ifndef FRBPF_FOLLOW_BPF_H
#define FRBPF_FOLLOW_BPF_H

#include "engine.bpf.h"

struct frbpf_look look; /* the last one, or the one that is under way: see look.bpf.h */

static __always_inline struct frbpf_followed_key followed_key(const struct frbpf_rule *rule,
							      const struct match *m)
{
	return (struct frbpf_followed_key){ rule->id, m->now - m->value, m->id };
}

/* Note that a look has found the event, if the event is followed. */
static __always_inline void follow_see(const struct frbpf_rule *rule, const struct match *m)
{
	struct frbpf_followed_key key = followed_key(rule, m);
	struct frbpf_followed *f = bpf_map_lookup_elem(&followed, &key);

	if (f)
		f->seen = m->now;
}

/*
 * Delete the entry of @key, and report that its event has ended. If several CPUs try, one of them
 * does it. @time, @value: ns; @value 0: the end was not seen. False: there is no entry.
 */
static __always_inline bool follow_end(const struct frbpf_followed_key *key, __u64 time,
				       __u64 value, __s64 ret)
{
	struct frbpf_ended *e;
	int err = bpf_map_delete_elem(&followed, key);

	if (err)
		return false;
	e = bpf_ringbuf_reserve(&triggers, sizeof(*e), 0);
	if (!e)
		return true;
	e->tag = FRBPF_TAG_ENDED;
	e->pad = 0;
	e->of = *key;
	e->time = time;
	e->value = value;
	e->ret = ret;
	bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
	return true;
}

/* Follow the event, which is about to fire the rule, until it ends. 0: there is no room. */
__noinline int follow_begin(const struct frbpf_rule *rule, const struct match *m)
{
	struct frbpf_followed_key key;
	struct frbpf_followed *was, f = {};

	if (!rule || !m)
		return 0;
	key = followed_key(rule, m);
	f.seen = m->now;
	f.looker = look.looker;
	if (!bpf_map_update_elem(&followed, &key, &f, BPF_NOEXIST))
		return 1;
	was = bpf_map_lookup_elem(&followed, &key);
	if (!was)
		return 0;
	was->seen = m->now;
	if (was->ended) /* the event ended after the look had found it */
		follow_end(&key, was->ended, was->value, was->ret);
	return 1;
}

/*
 * An event above the threshold of a PENDING rule has ended. A look may have found it just before,
 * and fire for it only after this. So the end is stored for that look: see follow_begin().
 */
__noinline int follow_ended(const struct frbpf_rule *rule, const struct match *m)
{
	struct frbpf_followed_key key;
	struct frbpf_followed f = {};

	if (!rule || !m)
		return 0;
	key = followed_key(rule, m);
	if (follow_end(&key, m->now, m->value, m->ret) || look.now == look.last)
		return 0;
	f.ended = m->now;
	f.value = m->value;
	f.ret = m->ret;
	f.looker = look.looker;
	if (bpf_map_update_elem(&followed, &key, &f, BPF_NOEXIST)) /* the look has added an entry */
		follow_end(&key, m->now, m->value, m->ret);
	return 0;
}

#endif
