/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules on other rules: the last match of each part, and whether all parts have matched in time. */
#ifndef FRBPF_PARTS_BPF_H
#define FRBPF_PARTS_BPF_H

#include "engine.bpf.h"
#include "match.bpf.h"

/* Record the match of a part. If two CPUs do so at the same time, one match is kept. */
static __always_inline void part_note(const struct frbpf_rule *rule, struct frbpf_rule_state *st,
				      struct match *m)
{
	m->parts |= 1ULL << (rule->part % FRBPF_MAX_PARTS);
	if (!m->now)
		m->now = bpf_ktime_get_ns();
	if (__sync_val_compare_and_swap(&st->part_busy, 0, 1))
		return;
	st->part.time = m->now;
	st->part.value = m->value;
	st->part.slot = rule->slot;
	st->part.cpu = m->cpu;
	task_record(&st->part.subject, m->val[MATCH_SUBJECT]);
	__sync_lock_test_and_set(&st->part_busy, 0);
}

/*
 * Does a match with the outcome @cause count for rules that this one is a part of? It does if it
 * fired, or if only the cooldown, the caps or a full trigger queue suppressed it.
 */
static __always_inline bool match_counts_as_part(__u32 cause)
{
	return cause != FRBPF_CAUSE_SELF && cause != FRBPF_CAUSE_COUNT && cause != FRBPF_CAUSE_KEYS;
}

static __always_inline struct frbpf_part *part_of(const struct frbpf_rule *rule, __u32 i)
{
	__u32 slot = rule->others[i];
	struct frbpf_rule_state *st = bpf_map_lookup_elem(&states, &slot);

	return st ? &st->part : NULL;
}

/* Have the other parts of the rule matched in time, and the last part with this event? */
static __always_inline bool parts_matched(const struct frbpf_rule *rule, const struct match *m)
{
	struct frbpf_part *part;
	__s64 age;

	if (!(m->parts >> (rule->part % FRBPF_MAX_PARTS) & 1))
		return false;
	for (__u32 i = 0; i < FRBPF_MAX_OTHERS; i++) {
		if (i >= rule->n_others)
			break;
		part = part_of(rule, i);
		if (!part || !*(volatile __u64 *)&part->time)
			return false;
		age = m->now - *(volatile __u64 *)&part->time;
		if (age > (__s64)rule->within || (rule->ordered && age <= 0))
			return false;
	}
	return true;
}

static __always_inline void parts_fill(struct frbpf_trigger *t, const struct frbpf_rule *rule)
{
	struct frbpf_part *part;

	__builtin_memset(t->parts, 0, sizeof(t->parts));
	for (__u32 i = 0; i < FRBPF_MAX_OTHERS; i++) {
		if (i >= rule->n_others)
			break;
		part = part_of(rule, i);
		if (part)
			__builtin_memcpy(&t->parts[i], part, sizeof(*part));
	}
}

#endif
