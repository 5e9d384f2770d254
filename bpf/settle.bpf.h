/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Matches that make no trigger. Where a condition looks at values of the event alone, a rule's
 * cooldown, its `count` and what else holds a match back can be asked for before anything is known
 * of the task. Of a place that is hit often nearly all matches end here: what costs is to fill a
 * struct match. For rules without a threshold.
 */
#ifndef FRBPF_SETTLE_BPF_H
#define FRBPF_SETTLE_BPF_H

#include "match.bpf.h"
#include "rates.bpf.h"

/* What is known of a hit. */
struct settle {
	__u64 now;     /* 0: not asked for yet */
	__u32 counted; /* as in struct match: for the first rule that needs one */
	__u32 slot;    /* of that rule */
	__u32 first; /* the rule that needs one: index in its half; those before it are done with */
	__u32 pad;
};

#define SETTLE_UNKNOWN FRBPF_CAUSE_MAX + 1 /* it needs a struct match */

/* Are its rates about the rule, not about who matches? */
static __always_inline bool settle_can(const struct frbpf_rule *rule)
{
	return rule->cooldown.per == FRBPF_PER_RULE &&
	       (rule->count.n <= 1 || rule->count.per == FRBPF_PER_RULE);
}

/* cause_against() and fire(), as far as they get. */
static __always_inline __u32 settle_cause(const struct frbpf_rule *rule,
					  struct frbpf_rule_state *st, __u64 now)
{
	bool quiet = rule->flags & FRBPF_RULE_QUIET;
	__u64 last;

	if (bpf_get_current_pid_tgid() >> 32 == control.self_tgid)
		return FRBPF_CAUSE_SELF;
	if (rule->count.n > 1 && !count_reached(&st->count, &rule->count, now))
		return FRBPF_CAUSE_COUNT;
	if (!quiet && held_until(rule->slot, now))
		return FRBPF_CAUSE_RULE_CAP;
	if (!quiet && held_until(FRBPF_HOLD_ALL, now))
		return FRBPF_CAUSE_CAP;
	last = *(volatile __u64 *)&st->last_fired;
	if (cooldown_lasts(rule, last, now))
		return FRBPF_CAUSE_COOLDOWN;
	if (!quiet)
		return SETTLE_UNKNOWN;
	if (rule->cooldown.window &&
	    __sync_val_compare_and_swap(&st->last_fired, last, now) != last)
		return FRBPF_CAUSE_COOLDOWN;
	__sync_fetch_and_add(&st->fired, 1);
	return FRBPF_CAUSE_MAX;
}

/* A match of the rule at @idx, by the task that runs. false: rule_run() has to look at it. */
static __always_inline bool settle_match(__u32 idx, const struct frbpf_rule *rule, struct settle *s)
{
	struct frbpf_rule_state *st;
	__u32 slot = rule->slot, cause;

	if (!settle_can(rule))
		return false;
	if (control.scope != FRBPF_SCOPE_ALL && !in_scope(bpf_get_current_task_btf()))
		return true;
	st = bpf_map_lookup_elem(&states, &slot);
	if (!st)
		return true;
	if (!s->now)
		s->now = bpf_ktime_get_ns();
	state_count(st, 0);
	cause = settle_cause(rule, st, s->now);
	if (cause == SETTLE_UNKNOWN) {
		s->counted = idx + 1;
		s->slot = slot;
		return false;
	}
	suppress(st, cause);
	return true;
}

/* There is no struct match for the one that is counted. */
static __always_inline void settle_without(const struct settle *s)
{
	__u32 slot = s->slot;
	struct frbpf_rule_state *st = bpf_map_lookup_elem(&states, &slot);

	if (s->counted && st)
		suppress(st, FRBPF_CAUSE_KEYS);
}

#endif
