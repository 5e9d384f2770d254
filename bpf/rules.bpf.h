/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rule engine, the same in every source. A source measures a value and calls rules_below(),
 * which ends almost every event; hits are tested by the prefilter. For the remaining events it
 * fills a struct match with the values of the event and calls rules_run().
 *
 * Values of tasks cost more than anything else, so they are filled in when the first rule needs
 * them: rules_run() returns true, and is called again. Of the events that match often, most end
 * before that. Their condition needs only values of the event, and cooldown and `count` are those
 * of the rule, not of the subject.
 *
 * Rules are data. A global function evaluates a rule, so the verifier checks it once for any number
 * of rules. The loop around it costs the verifier a few instructions per rule. The engine reads
 * only the struct match, never a task, so that a test can run it with its own values.
 */
#ifndef FRBPF_RULES_BPF_H
#define FRBPF_RULES_BPF_H

#include "conditions.bpf.h"
#include "follow.bpf.h"
#include "match.bpf.h"
#include "parts.bpf.h"
#include "rates.bpf.h"
#include "shares.bpf.h"

/*
 * Set the text of a trigger: the path or file of a call, or the string that rules looked at.
 * Without such a string MATCH_CALL_PATH is unused, so the path of a file is built there.
 */
static __always_inline void trigger_text(struct frbpf_trigger *t, struct match *m)
{
	struct path_text *text = &m->path[MATCH_SUBJECT][MATCH_CALL_PATH];

	t->text[0] = '\0';
	t->text_is = m->no_text ? 0 : m->text;
	if (!t->text_is && m->file_at) {
		file_path(m->file_at, text);
		t->text_is = text->text[0] ? FRBPF_TEXT_FILE : 0;
	}
	if (t->text_is)
		bpf_probe_read_kernel_str(t->text, sizeof(t->text), text->text);
	else if (m->path_at &&
		 bpf_probe_read_user_str(t->text, sizeof(t->text), (void *)m->path_at) > 0)
		t->text_is = 1;
}

static __always_inline void trigger_fill(struct frbpf_trigger *t, const struct frbpf_rule *rule,
					 struct match *m)
{
	t->tag = FRBPF_TAG_TRIGGER;
	t->source = m->source;
	t->time = m->now;
	t->value = m->value;
	t->threshold = rule->flags & FRBPF_RULE_ABSENT ? rule->silence : rule->threshold;
	t->rule_id = rule->id;
	t->slot = rule->slot;
	t->cpu = m->cpu;
	t->key = m->key;
	t->n_args = m->n_args;
	t->ret = m->ret;
	task_record(&t->subject, m->val[MATCH_SUBJECT]);
	task_record(&t->current, m->val[MATCH_CURRENT]);
	__builtin_memcpy(t->args, m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG], sizeof(t->args));
	trigger_text(t, m);
}

/* Reserves the record before the cooldown begins: if the ring is full, no cooldown must begin. */
static __always_inline __u32 rule_fire(const struct frbpf_rule *rule, struct frbpf_rule_state *st,
				       struct match *m)
{
	struct frbpf_trigger *t = NULL;
	struct cooldown c = {};
	__u32 cause;

	if (is_cooling(rule, st, m, &c))
		return FRBPF_CAUSE_COOLDOWN;
	if (rule->flags & FRBPF_RULE_QUIET) {
		cause = cooldown_begin(rule, st, m, &c);
		if (cause == FRBPF_CAUSE_NONE)
			__sync_fetch_and_add(&st->fired, 1);
		return cause;
	}
	if (m->lacks_tasks)
		return CAUSE_ASK_TASKS;
	t = bpf_ringbuf_reserve(&triggers, sizeof(*t), 0);
	if (!t)
		return FRBPF_CAUSE_FULL;
	cause = cooldown_begin(rule, st, m, &c);
	if (cause != FRBPF_CAUSE_NONE) {
		bpf_ringbuf_discard(t, BPF_RB_NO_WAKEUP);
		return cause;
	}
	if (!rule->cooldown.time || rule->cooldown.per != FRBPF_PER_RULE)
		st->last_fired = m->now;
	trigger_fill(t, rule, m);
	if (rule->flags & FRBPF_RULE_LEARNS)
		t->threshold = m->limit;
	if (rule->flags & FRBPF_RULE_SHARE)
		t->threshold = rule->sum;
	t->flags = c.broken ? FRBPF_TRIGGER_ESCALATED : 0;
	t->id = m->id;
	if (m->is_pending)
		t->flags |= FRBPF_TRIGGER_PENDING |
			    (follow_begin(rule, m) ? FRBPF_TRIGGER_FOLLOWED : 0);
	if (rule->flags & FRBPF_RULE_ABSENT)
		t->flags |= FRBPF_TRIGGER_ABSENT;
	if (rule->flags & FRBPF_RULE_SHARE)
		t->flags |= FRBPF_TRIGGER_SHARE;
	parts_fill(t, rule);
	suppressed_take(st, &t->since_last);
	__sync_fetch_and_add(&st->fired, 1);
	/* Forced: by default the kernel does not wake readers after an unread discarded record. */
	bpf_ringbuf_submit(t, BPF_RB_FORCE_WAKEUP);
	m->fired = 1;
	return FRBPF_CAUSE_NONE;
}

static __always_inline bool error_fits(const struct frbpf_rule *rule, __u32 error)
{
	if (!error || rule->flags & FRBPF_RULE_ANY_ERRNO)
		return error;
	return error < FRBPF_ERRNO_MAX && rule->errnos[error / 64] & (1ULL << (error % 64));
}

enum { REACHED, REACHED_NOT, REACHED_BY_NONE };

/* Is the threshold of the rule reached? REACHED_BY_NONE: no rule after it is reached either. */
static __always_inline int rule_reached(const struct frbpf_rule *rule, __u64 value, __u32 error)
{
	if (rule->flags & FRBPF_RULE_FAILS)
		return error_fits(rule, error) ? REACHED : REACHED_NOT;
	return rule->flags & FRBPF_RULE_HIT || value > rule->threshold ? REACHED : REACHED_BY_NONE;
}

/* Does the rule ignore calls that wait by nature? It is on all calls, and not about errors. */
static __always_inline bool rule_ignores_waits(const struct frbpf_rule *rule)
{
	return (rule->flags & (FRBPF_RULE_ALL_CALLS | FRBPF_RULE_FAILS)) == FRBPF_RULE_ALL_CALLS;
}

/*
 * Can the limits of the rule be checked before its subject is known? Not those of a PART rule: its
 * matches are recorded with their subject.
 */
static __always_inline bool rates_of_rule(const struct frbpf_rule *rule)
{
	return rule->cooldown.per == FRBPF_PER_RULE && share_is_of_cpu(rule) &&
	       !(rule->flags & FRBPF_RULE_PART) &&
	       (rule->count.n <= 1 || rule->count.per == FRBPF_PER_RULE);
}

/*
 * Reading the clock costs the most here. So a cooldown that was found to last is taken to last for
 * the rest of the jiffy. It may last a jiffy too long, and needs a minimum length.
 * After all CPUs slept, it may last until the kernel has updated the jiffies.
 */
#define COOLING_LEAST 1000000000ULL /* ns */

static __always_inline bool is_known_to_cool(const struct frbpf_rule *rule,
					     const struct frbpf_rule_state *st,
					     const struct match *m)
{
	return *(volatile const __u64 *)&st->cooling == bpf_jiffies64() &&
	       !value_escalates(rule, &st->cooldown_start, *(volatile const __u64 *)&st->last_fired,
				m->value);
}

/* The condition of the rule holds: fire or suppress. Returns the cause; FRBPF_CAUSE_NONE: fired. */
static __always_inline __u32 rule_outcome(const struct frbpf_rule *rule,
					  struct frbpf_rule_state *st, struct match *m,
					  bool counted)
{
	bool of_rule = rates_of_rule(rule);
	__u32 cause;

	if (m->self || (!m->lacks_tasks && is_helper(m->val[MATCH_SUBJECT][FRBPF_FIELD_PID][0])))
		return FRBPF_CAUSE_SELF;
	if (of_rule && is_known_to_cool(rule, st, m))
		return FRBPF_CAUSE_COOLDOWN;
	if (!m->now)
		m->now = bpf_ktime_get_ns();
	cause = cause_against(rule, st, m, counted);
	if (cause == FRBPF_CAUSE_NONE)
		cause = rule_fire(rule, st, m);
	if (cause == FRBPF_CAUSE_COOLDOWN && of_rule && rule->count.n <= 1 &&
	    rule->cooldown.time >= COOLING_LEAST)
		st->cooling = bpf_jiffies64();
	return cause;
}

/* Note an event that an ABSENT rule waits for, unless it is our own. */
static __always_inline void rule_hear(struct frbpf_rule_state *st, struct match *m)
{
	if (m->self)
		return;
	if (!m->now)
		m->now = bpf_ktime_get_ns();
	if ((__s64)(m->now - *(volatile __u64 *)&st->heard) > 0)
		st->heard = m->now;
}

/*
 * For a rule that learns: count the value, unless it is our own, and compare it with the present
 * limit.
 */
static __always_inline bool rule_learns(const struct frbpf_rule *rule,
					const struct frbpf_rule_state *st, struct match *m)
{
	__u32 slot = rule->slot, zero = 0, bucket;
	struct frbpf_learned *seen;
	void *of_rule;

	m->limit = *(volatile const __u64 *)&st->limit;
	if (m->self)
		return m->value > m->limit;
	of_rule = bpf_map_lookup_elem(&learned, &slot);
	seen = of_rule ? bpf_map_lookup_elem(of_rule, &zero) : NULL;
	if (!seen)
		return false;
	bucket = frbpf_learn_bucket(m->value, log2_of(m->value));
	barrier_var(bucket);
	__sync_fetch_and_add(&seen->n[bucket % FRBPF_LEARN_BUCKETS], 1);
	return m->value > m->limit;
}

/*
 * Is the rule about events like @m, which is either pending or has ended? A pending event must be
 * new to the rule: it was not above the threshold when a look last saw it with this rule in force.
 */
static __always_inline bool rule_is_about(const struct frbpf_rule *rule, const struct match *m)
{
	struct frbpf_rule_state *st;
	__u32 slot = rule->slot;

	if (!(rule->flags & FRBPF_RULE_PENDING))
		return !m->is_pending;
	if (!m->is_pending) {
		follow_ended(rule, m);
		return false;
	}
	st = bpf_map_lookup_elem(&states, &slot);
	if (st && (!st->looked || m->seen < st->looked ||
		   (__s64)(m->now - m->value + rule->threshold - m->seen) >= 0))
		return true;
	follow_see(rule, m);
	return false;
}

enum { RUN_NEXT, RUN_END, RUN_ASK_TASKS };

/* The event matches the rule: count it, then fire or suppress. */
static __always_inline int rule_matches(const struct frbpf_rule *rule, struct frbpf_rule_state *st,
					struct match *m, __u32 idx)
{
	bool counted = m->counted == idx + 1;
	__u32 cause;

	if (m->value && !counted)
		state_count(st, m->value);
	cause = rule_outcome(rule, st, m, counted);
	/* the largest suppressed match is recorded with its subject */
	if (cause_is_reported(cause) && m->lacks_tasks && !(rule->flags & FRBPF_RULE_QUIET) &&
	    is_largest_suppressed(st, m->value))
		cause = CAUSE_ASK_TASKS;
	if (cause == CAUSE_ASK_TASKS) {
		m->counted = m->learnt = idx + 1;
		return RUN_ASK_TASKS;
	}
	if (rule->flags & FRBPF_RULE_PART && match_counts_as_part(cause))
		part_note(rule, st, m);
	if (cause_is_reported(cause) && !m->lacks_tasks)
		suppressed_note(st, m);
	state_suppress(st, cause);
	return RUN_NEXT;
}

/* Add the value for a SHARE rule. Does the sum in the window exceed the limit? */
static __always_inline bool share_reached(const struct frbpf_rule *rule,
					  struct frbpf_rule_state *st, struct match *m, __u32 idx)
{
	struct frbpf_share *share;

	if (m->learnt == idx + 1)
		return true;
	if (m->self)
		return false;
	share = share_of(rule, st, m);
	if (!share) {
		state_suppress(st, FRBPF_CAUSE_KEYS);
		return false;
	}
	if (!m->now)
		m->now = bpf_ktime_get_ns();
	share_add(share, &rule->share, m);
	return m->sum > rule->sum;
}

/*
 * Evaluate one rule. RUN_END: its threshold is not reached, nor are those of the rules after it.
 * RUN_ASK_TASKS: evaluate it again when the values of tasks are filled in.
 */
__noinline int rule_run(__u32 idx, struct match *m)
{
	struct frbpf_rule_state *st;
	struct frbpf_rule *rule;
	__u32 slot, holds;
	int reached, ret;
	__u64 value;

	if (!m)
		return RUN_END;
	rule = bpf_map_lookup_elem(&rules, &idx);
	if (!rule)
		return RUN_END;
	reached = rule_reached(rule, m->value, m->error);
	if (reached != REACHED)
		return reached == REACHED_BY_NONE ? RUN_END : RUN_NEXT;
	if (!rule_is_about(rule, m) || (m->waits && rule_ignores_waits(rule)) ||
	    !key_in(rule->watched_keys, m->key))
		return RUN_NEXT;
	holds = nodes_hold(rule, m);
	if (holds == HOLDS_NOT)
		return RUN_NEXT;
	if (holds == MAY_HOLD)
		return RUN_ASK_TASKS;
	if (rule->flags & FRBPF_RULE_AFTER && !parts_matched(rule, m))
		return RUN_NEXT;
	slot = rule->slot;
	st = bpf_map_lookup_elem(&states, &slot);
	if (!st)
		return RUN_NEXT;
	if (rule->flags & FRBPF_RULE_LEARNS && m->learnt != idx + 1 && !rule_learns(rule, st, m))
		return RUN_NEXT;
	if (m->lacks_tasks && !rates_of_rule(rule)) {
		m->learnt = rule->flags & FRBPF_RULE_LEARNS ? idx + 1 : 0;
		return RUN_ASK_TASKS;
	}
	if (rule->flags & FRBPF_RULE_ABSENT) {
		rule_hear(st, m);
		return RUN_NEXT;
	}
	value = m->value;
	if (rule->flags & FRBPF_RULE_SHARE) {
		if (!share_reached(rule, st, m, idx))
			return RUN_NEXT;
		m->value = m->sum;
	}
	ret = rule_matches(rule, st, m, idx);
	m->value = value;
	return ret;
}

/* The bank in force. Read it once per event: a reload may flip it at any time. */
static __always_inline __u32 rules_bank(void)
{
	return *(volatile __u32 *)&control.bank_flips & 1;
}

static __always_inline bool rules_below(__u32 bank, __u64 value)
{
	return value <= control.bank[bank].min_threshold;
}

#define RULES_AT_ONCE 16

/* Evaluate some rules. A global function is verified once, not for each possible rule. */
__noinline int some_run(__u32 first, __u32 n_rules, struct match *m)
{
	__u32 i;
	int ret;

	if (!m)
		return RUN_END;
	for (i = 0; i < RULES_AT_ONCE; i++) {
		if (first + i >= n_rules)
			return RUN_END;
		ret = rule_run(2 * (first + i) + (m->bank & 1), m);
		if (ret == RUN_ASK_TASKS)
			m->first = first + i;
		if (ret)
			return ret;
	}
	return RUN_NEXT;
}

/*
 * Evaluate all rules. True: a rule needs values of tasks. Then the caller fills them in and calls
 * again; evaluation continues with that rule.
 */
static __always_inline bool rules_run(struct match *m)
{
	__u32 n_rules = control.bank[m->bank & 1].n_rules, first = m->first, i;
	int ret;

	for (i = 0; i < FRBPF_MAX_RULES; i += RULES_AT_ONCE) {
		ret = some_run(first + i, n_rules, m);
		if (ret)
			return ret == RUN_ASK_TASKS;
	}
	return false;
}

/* Convert bytes, or a negative error, to a number of frames. */
static __always_inline __u32 n_frames(long bytes)
{
	return bytes > 0 ? bytes / sizeof(__u64) : 0;
}

/* Sent after the trigger, so that its wake-up is not delayed. Without room, stacks are left out. */
static __always_inline void stacks_send(const struct match *m, struct task_struct *task,
					bool is_current)
{
	struct frbpf_stacks *s = bpf_ringbuf_reserve(&triggers, sizeof(*s), 0);

	if (!s)
		return;
	s->tag = FRBPF_TAG_STACKS;
	s->cpu = m->cpu;
	s->time = m->now;
	s->tid = m->val[MATCH_SUBJECT][FRBPF_FIELD_TID][0];
	s->pad = 0;
	s->n_kernel = n_frames(bpf_get_task_stack(task, s->kernel, sizeof(s->kernel), 0));
	s->n_user = 0;
	if (is_current)
		s->n_user = n_frames(
			bpf_get_task_stack(task, s->user, sizeof(s->user), BPF_F_USER_STACK));
	bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
}

/* Run the rules for a source that has its subject at hand. */
static __always_inline void rules_run_for(struct match *m, struct task_struct *subject,
					  struct task_struct *current)
{
	if (rules_run(m)) {
		match_tasks(m, m->bank, subject, current);
		rules_run(m);
	}
	if (m->fired)
		stacks_send(m, subject, subject == bpf_get_current_task_btf());
}

/*
 * Run the rules for an event without a subject: the fields of the subject are empty, except `cpu`.
 * It is in scope if it interrupts a task in scope.
 */
static __always_inline void rules_run_for_cpu(struct match *m)
{
	struct task_struct *current = bpf_get_current_task_btf();

	if (!rules_run(m))
		return;
	match_no_tasks(m);
	m->val[MATCH_SUBJECT][FRBPF_FIELD_CPU][0] = m->cpu;
	task_fields(current, m->val[MATCH_CURRENT], m->cpu);
	if (rules_look_at_cgroups(m->bank) && bpf_core_field_exists(current->cgroups))
		cgroup_ids((__u64)BPF_CORE_READ(current, cgroups, dfl_cgrp),
			   &m->cgroup[MATCH_CURRENT]);
	rules_run(m);
}

#include "run_by_daemon.bpf.h"

#endif
