/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rule engine, the same in every source. A source measures a value and asks rules_below(),
 * which ends almost every event; otherwise what rules can be settled for without knowing more is
 * (see settle.bpf.h), and for the others it fills a struct match (match_begin(), then its own
 * members) and calls rules_run().
 *
 * Rules are data. Each is looked at by a global function: the verifier checks that once, for any
 * number of rules, and the loop around it costs it a few instructions a rule. The engine looks at
 * the struct match only, never at a task, so that a test can run it on values of its own.
 */
#ifndef FRBPF_RULES_BPF_H
#define FRBPF_RULES_BPF_H

#include "conditions.bpf.h"
#include "match.bpf.h"
#include "rates.bpf.h"

static __always_inline void trigger_fill(struct frbpf_trigger *t, const struct frbpf_rule *rule,
					 const struct match *m)
{
	t->tag = FRBPF_TAG_TRIGGER;
	t->source = m->source;
	t->time = m->now;
	t->value = m->value;
	t->threshold = rule->threshold;
	t->rule_id = rule->id;
	t->slot = rule->slot;
	t->cpu = m->cpu;
	t->key = m->key;
	t->n_args = m->n_args;
	t->ret = m->ret;
	task_record(&t->subject, m->val[MATCH_SUBJECT]);
	task_record(&t->current, m->val[MATCH_CURRENT]);
	__builtin_memcpy(t->args, m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG], sizeof(t->args));
}

/* The record is reserved first, so that a full ring does not begin a cooldown. */
static __always_inline enum frbpf_cause fire(const struct frbpf_rule *rule,
					     struct frbpf_rule_state *st, struct match *m)
{
	struct frbpf_trigger *t = NULL;
	struct cooldown c = {};
	enum frbpf_cause cause;

	if (is_cooling(rule, st, m, &c))
		return FRBPF_CAUSE_COOLDOWN;
	if (rule->flags & FRBPF_RULE_QUIET) {
		cause = cooldown_begin(rule, st, m, &c);
		if (cause == FRBPF_CAUSE_MAX)
			__sync_fetch_and_add(&st->fired, 1);
		return cause;
	}
	t = bpf_ringbuf_reserve(&triggers, sizeof(*t), 0);
	if (!t)
		return FRBPF_CAUSE_FULL;
	cause = cooldown_begin(rule, st, m, &c);
	if (cause != FRBPF_CAUSE_MAX) {
		bpf_ringbuf_discard(t, BPF_RB_NO_WAKEUP);
		return cause;
	}
	if (!rule->cooldown.window || rule->cooldown.per != FRBPF_PER_RULE)
		st->last_fired = m->now;
	trigger_fill(t, rule, m);
	t->flags = c.broken ? FRBPF_TRIGGER_ESCALATED : 0;
	held_take(st, &t->held);
	__sync_fetch_and_add(&st->fired, 1);
	/* Forced: the kernel's own choice wakes nobody when a discarded record is still unread. */
	bpf_ringbuf_submit(t, BPF_RB_FORCE_WAKEUP);
	m->fired = 1;
	return FRBPF_CAUSE_MAX;
}

static __always_inline bool error_fits(const struct frbpf_rule *rule, __u32 error)
{
	if (!error || rule->flags & FRBPF_RULE_ANY_ERRNO)
		return error;
	return error < FRBPF_ERRNO_MAX && rule->errnos[error / 64] & (1ULL << (error % 64));
}

enum { REACHED, REACHED_NOT, REACHED_BY_NONE };

/* Is it what the rule's threshold asks for? By none: nor is it for the rules behind it. */
static __always_inline int rule_reached(const struct frbpf_rule *rule, __u64 value, __u32 error)
{
	if (rule->flags & FRBPF_RULE_FAILS)
		return error_fits(rule, error) ? REACHED : REACHED_NOT;
	return rule->flags & FRBPF_RULE_HIT || value > rule->threshold ? REACHED : REACHED_BY_NONE;
}

/* A rule on all calls that says nothing of errors is not about those that wait by their nature. */
static __always_inline bool minds_waits(const struct frbpf_rule *rule)
{
	return (rule->flags & (FRBPF_RULE_ALL_CALLS | FRBPF_RULE_FAILS)) == FRBPF_RULE_ALL_CALLS;
}

/* Try one rule. Not 0: its threshold is not reached, nor are those of the rules after it. */
__noinline int rule_run(__u32 idx, struct match *m)
{
	struct frbpf_rule_state *st;
	struct frbpf_rule *rule;
	enum frbpf_cause cause;
	bool counted;
	int reached;
	__u32 slot;

	if (!m)
		return 1;
	rule = bpf_map_lookup_elem(&rules, &idx);
	if (!rule)
		return 1;
	reached = rule_reached(rule, m->value, m->error);
	if (reached != REACHED)
		return reached == REACHED_BY_NONE;
	if (m->waits && minds_waits(rule))
		return 0;
	if (!key_in(rule->keys, m->key) || !nodes_hold(rule, m))
		return 0;
	slot = rule->slot;
	st = bpf_map_lookup_elem(&states, &slot);
	if (!st)
		return 0;
	counted = m->counted == idx + 1;
	if (m->value && !counted)
		state_count(st, m->value);
	cause = cause_against(rule, st, m, counted);
	if (cause == FRBPF_CAUSE_MAX)
		cause = fire(rule, st, m);
	if (is_held(cause))
		held_note(st, m);
	suppress(st, cause);
	return 0;
}

/* The half in force. Asked for once per event: a reload may flip it at any time. */
static __always_inline __u32 rules_half(void)
{
	return *(volatile __u32 *)&control.generation & 1;
}

static __always_inline bool rules_below(__u32 half, __u64 value)
{
	return value <= control.half[half].min_threshold;
}

#define RULES_AT_ONCE 16

/* Some of them: a function of its own, which is verified once and not for every rule that there can
 * be. Not 0: there is nothing left to do. */
__noinline int some_run(__u32 first, __u32 n_rules, struct match *m)
{
	__u32 i;

	if (!m)
		return 1;
	for (i = 0; i < RULES_AT_ONCE; i++) {
		if (first + i >= n_rules)
			return 1;
		if (rule_run(2 * (first + i) + (m->half & 1), m))
			return 1;
	}
	return 0;
}

static __always_inline void rules_run(struct match *m)
{
	__u32 n_rules = control.half[m->half & 1].n_rules, first = m->first, i;

	for (i = 0; i < FRBPF_MAX_RULES; i += RULES_AT_ONCE) {
		if (some_run(first + i, n_rules, m))
			break;
	}
}

/* Bytes, or a negative error, to frames. */
static __always_inline __u32 n_frames(long bytes)
{
	return bytes > 0 ? bytes / sizeof(__u64) : 0;
}

/* Behind the trigger, whose wake-up need not wait for this. No room: there are no stacks. */
static __always_inline void stacks_send(const struct match *m, struct task_struct *task,
					bool is_current)
{
	struct frbpf_stacks *s = bpf_ringbuf_reserve(&triggers, sizeof(*s), 0);

	if (!s)
		return;
	s->tag = FRBPF_TAG_STACKS;
	s->cpu = m->cpu;
	s->time = m->now;
	s->n_kernel = n_frames(bpf_get_task_stack(task, s->kernel, sizeof(s->kernel), 0));
	s->n_user = 0;
	if (is_current)
		s->n_user = n_frames(
			bpf_get_task_stack(task, s->user, sizeof(s->user), BPF_F_USER_STACK));
	bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
}

/* The same, for a source that has its subject at hand. */
static __always_inline void rules_run_for(struct match *m, struct task_struct *subject)
{
	rules_run(m);
	if (m->fired)
		stacks_send(m, subject, subject == bpf_get_current_task_btf());
}

/* Run once by the daemon, in its own context: who are we, in the initial pid namespace? */
SEC("raw_tp")
int learn_self(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();

	control.self_tgid = id >> 32;
	control.self_tid = (__u32)id;
	return 0;
}

#endif
