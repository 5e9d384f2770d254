/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules that an event is settled for before a match is filled, which costs more than all else. Where a
 * rule has no condition, or one that looks at values of the event alone, its cooldown, its `count`
 * and what else holds a match back can be asked for at once, if they are about the rule and not
 * about who matches. Of events that match often nearly all end here.
 */
#ifndef FRBPF_SETTLE_BPF_H
#define FRBPF_SETTLE_BPF_H

#include "rules.bpf.h"

#define SETTLE_UNKNOWN (FRBPF_CAUSE_MAX + 1) /* it needs a struct match */

/* bpf_get_current_pid_tgid() takes twice as long. */
static __always_inline bool is_own_task(void)
{
	return (__u32)bpf_get_current_task_btf()->tgid == control.self_tgid;
}

/* Are its rates about the rule, not about who matches? */
static __always_inline bool settle_can(const struct frbpf_rule *rule)
{
	return rule->cooldown.per == FRBPF_PER_RULE &&
	       (rule->count.n <= 1 || rule->count.per == FRBPF_PER_RULE);
}

/*
 * That a cooldown lasts is settled for the rest of the jiffy: to read the clock costs more than all
 * else here. So it may last a jiffy longer than it should, which must be little of it; or, where all
 * CPUs slept, until the kernel has counted the jiffies of that.
 */
#define SETTLE_LASTING 1000000000ULL /* ns */

/* cause_against() and fire(), as far as they get; but for FRBPF_CAUSE_SELF. */
static __always_inline __u32 settle_cause(const struct frbpf_rule *rule,
					  struct frbpf_rule_state *st, __u64 value, __u64 now)
{
	bool quiet = rule->flags & FRBPF_RULE_QUIET;
	__u64 last;

	if (rule->count.n > 1 && !count_reached(&st->count, &rule->count, now))
		return FRBPF_CAUSE_COUNT;
	if (!quiet && held_until(rule->slot, now))
		return FRBPF_CAUSE_RULE_CAP;
	if (!quiet && held_until(FRBPF_HOLD_ALL, now))
		return FRBPF_CAUSE_CAP;
	last = *(volatile __u64 *)&st->last_fired;
	if (cooldown_lasts(rule, last, now) && !escalates(rule, &st->bar, last, value))
		return FRBPF_CAUSE_COOLDOWN;
	if (!quiet)
		return SETTLE_UNKNOWN;
	if (rule->cooldown.window &&
	    __sync_val_compare_and_swap(&st->last_fired, last, now) != last)
		return FRBPF_CAUSE_COOLDOWN;
	bar_set(&st->bar, now, value);
	__sync_fetch_and_add(&st->fired, 1);
	return FRBPF_CAUSE_MAX;
}

/* A match of the rule at @idx, whose subject is in scope. false: rule_run() has to look at it. */
static __always_inline bool settle_match(__u32 idx, const struct frbpf_rule *rule, struct settle *s)
{
	struct frbpf_rule_state *st;
	__u64 jiffy = bpf_jiffies64();
	__u32 slot = rule->slot, cause;

	if (!settle_can(rule))
		return false;
	st = bpf_map_lookup_elem(&states, &slot);
	if (!st)
		return true;
	if (s->value)
		state_count(st, s->value);
	if (s->self) {
		cause = FRBPF_CAUSE_SELF;
	} else if (*(volatile __u64 *)&st->cooling == jiffy &&
		   !escalates(rule, &st->bar, *(volatile __u64 *)&st->last_fired, s->value)) {
		cause = FRBPF_CAUSE_COOLDOWN;
	} else {
		if (!s->now)
			s->now = bpf_ktime_get_ns();
		cause = settle_cause(rule, st, s->value, s->now);
		if (cause == FRBPF_CAUSE_COOLDOWN && rule->count.n <= 1 &&
		    rule->cooldown.window >= SETTLE_LASTING)
			st->cooling = jiffy;
	}
	/* who it was about is not known here */
	if (is_held(cause) && !(rule->flags & FRBPF_RULE_QUIET) && is_largest_held(st, s->value))
		cause = SETTLE_UNKNOWN;
	if (cause == SETTLE_UNKNOWN) {
		s->counted = idx + 1;
		s->slot = slot;
		return false;
	}
	suppress(st, cause);
	return true;
}

/*
 * An event that has passed the gate, whose subject is in scope: is it held back for certain? One that
 * the gate decides is, while its cooldown was seen to last in this jiffy. The subject is the task that runs.
 */
static __always_inline bool settle_passed(__u32 half)
{
	const struct frbpf_gate *g = &control.half[half & 1].gate;
	struct frbpf_rule_state *st;
	__u32 slot = g->slot;

	if (!g->decides)
		return false;
	st = bpf_map_lookup_elem(&states, &slot);
	if (!st || *(volatile __u64 *)&st->cooling != bpf_jiffies64())
		return false;
	if (is_own_task())
		suppress(st, FRBPF_CAUSE_SELF);
	else
		suppress(st, FRBPF_CAUSE_COOLDOWN);
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

enum { SETTLE_NEXT, SETTLE_MATCH, SETTLE_END };

/* Rule @i of its half: that is all, it needs a match, or neither it nor those behind it are reached. */
__noinline int settle_rule(__u32 i, struct settle *s)
{
	struct frbpf_rule *rule;
	int reached;
	__u32 idx;

	if (!s)
		return SETTLE_END;
	idx = 2 * i + (s->half & 1);
	rule = bpf_map_lookup_elem(&rules, &idx);
	if (!rule)
		return SETTLE_END;
	reached = rule_reached(rule, s->value, s->error);
	if (reached == REACHED_BY_NONE)
		return SETTLE_END;
	if (reached == REACHED_NOT || !key_in(rule->keys, s->key))
		return SETTLE_NEXT;
	if (!rule->n_nodes && !minds_waits(rule) && settle_match(idx, rule, s))
		return SETTLE_NEXT;
	s->first = i;
	return SETTLE_MATCH;
}

/* As some_run(). */
__noinline int settle_some(__u32 first, __u32 n_rules, struct settle *s)
{
	__u32 i;
	int ret;

	if (!s)
		return SETTLE_END;
	for (i = 0; i < RULES_AT_ONCE; i++) {
		if (first + i >= n_rules)
			return SETTLE_END;
		ret = settle_rule(first + i, s);
		if (ret)
			return ret;
	}
	return SETTLE_NEXT;
}

/* Does a rule need a match? */
static __always_inline bool rules_settle(struct settle *s)
{
	__u32 n_rules = control.half[s->half & 1].n_rules, i;
	int ret;

	for (i = 0; i < FRBPF_MAX_RULES; i += RULES_AT_ONCE) {
		ret = settle_some(i, n_rules, s);
		if (ret)
			return ret == SETTLE_MATCH;
	}
	return false;
}

/*
 * An event above the lowest threshold, for the source to add to. Values of the event stand with
 * those of the subject. NULL: the rules are not about this subject, or they are settled.
 */
static __always_inline struct match *match_begin(struct settle *s, struct task_struct *subject,
						 struct task_struct *current)
{
	struct match *m;

	if (!in_scope(subject))
		return NULL;
	s->self |= (__u32)subject->tgid == control.self_tgid;
	if (!rules_settle(s))
		return NULL;
	m = match_new(s);
	if (m)
		match_tasks(m, s->half, subject, current);
	return m;
}

/* The same for an event that no task suffers from: its subject's fields are empty, but for `cpu`. In
 * scope it is where it holds up a task that is. */
static __always_inline struct match *match_of_cpu(struct settle *s)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct match *m;

	if (!in_scope(current) || !rules_settle(s))
		return NULL;
	m = match_new(s);
	if (!m)
		return NULL;
	m->val[MATCH_SUBJECT][FRBPF_FIELD_CPU][0] = m->cpu;
	task_fields(current, m->val[MATCH_CURRENT], m->cpu);
	if (rules_look_at_cgroups(s->half) && bpf_core_field_exists(current->cgroups))
		cgroup_ids((__u64)BPF_CORE_READ(current, cgroups, dfl_cgrp),
			   &m->cgroup[MATCH_CURRENT]);
	return m;
}

#endif
