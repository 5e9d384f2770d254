/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that every source has and that the daemon runs itself. look_end() ends a look (see
 * struct frbpf_look) and runs the rules on absence. learn_self() gets the ids of the daemon.
 * Sources with pending events use look.bpf.h, too.
 */
#ifndef FRBPF_RUN_BY_DAEMON_BPF_H
#define FRBPF_RUN_BY_DAEMON_BPF_H

#include "rules.bpf.h"

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

#define SILENCE_SLACK 5000000 /* ns: a program that saw an event may not have noted it yet */

/* Match an ABSENT rule if its silence has lasted long enough. The match has no subject. */
static __always_inline void look_silence(const struct frbpf_rule *rule, struct frbpf_rule_state *st)
{
	__u64 heard = *(volatile __u64 *)&st->heard, due = heard + rule->silence + SILENCE_SLACK;
	struct measured s = { .now = look.now, .value = look.now - heard, .bank = look.bank & 1 };
	__u32 zero = 0, cause;
	struct match *m;

	if (st->silent == heard)
		return;
	if ((__s64)(look.now - due) < 0) {
		look_again_at(due);
		return;
	}
	m = bpf_map_lookup_elem(&look_matches, &zero);
	if (!m)
		return;
	st->silent = heard;
	match_measured(m, &s);
	match_no_tasks(m);
	m->source = look.source;
	state_count(st, m->value);
	cause = rule_outcome(rule, st, m, false);
	if (cause_is_reported(cause))
		suppressed_note(st, m);
	state_suppress(st, cause);
}

__noinline int look_end_rule(__u32 idx)
{
	struct frbpf_rule *rule = bpf_map_lookup_elem(&rules, &idx);
	struct frbpf_rule_state *st;
	__u32 slot;

	if (!rule || !(rule->flags & (FRBPF_RULE_PENDING | FRBPF_RULE_ABSENT)))
		return 0;
	slot = rule->slot;
	st = bpf_map_lookup_elem(&states, &slot);
	if (!st)
		return 0;
	if (rule->flags & FRBPF_RULE_ABSENT)
		look_silence(rule, st);
	else if (!st->looked)
		st->looked = look.now;
	return 0;
}

/*
 * Report an event that two looks in a row have not found: its end was not seen. One look may miss
 * an event whose end is just being reported.
 */
static long follow_lost(void *map, struct frbpf_followed_key *key, struct frbpf_followed *f,
			void *unused)
{
	struct frbpf_followed_key of = *key;

	if (f->looker != look.looker)
		return 0;
	if (f->ended)
		bpf_map_delete_elem(&followed, &of); /* the look did not fire for the event */
	else if (f->seen < look.last)
		follow_end(&of, look.now, 0, 0);
	return 0;
}

/* Run by the daemon after a look at all pending events. */
SEC("raw_tp")
int look_end(void *ctx)
{
	__u32 n = control.bank[look.bank & 1].n_rules, i;

	for (i = 0; i < FRBPF_MAX_RULES; i++) {
		if (i >= n)
			break;
		look_end_rule(2 * i + (look.bank & 1));
	}
	bpf_for_each_map_elem(&followed, follow_lost, NULL, 0);
	look.last = look.now;
	return 0;
}

/* Run once by the daemon in its own context, to get its ids in the initial pid namespace. */
SEC("raw_tp")
int learn_self(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();

	control.self_tgid = id >> 32;
	control.self_tid = (__u32)id;
	return 0;
}

#endif
