/* SPDX-License-Identifier: GPL-2.0-only */
/* The counters, `count` and cooldown of a rule, and the other causes that suppress a match. */
#ifndef FRBPF_RATES_BPF_H
#define FRBPF_RATES_BPF_H

#include "engine.bpf.h"

/* Is @v not zero? 1 or 0, without a branch, so that the verifier walks one path. */
static __always_inline __u64 not_zero(__u64 v)
{
	v |= -v;
	barrier_var(v);
	return v >> 63;
}

/* The number of the highest bit that is set, also without a branch. 0 for 0. */
static __always_inline __u32 log2_of(__u64 v)
{
	__u32 shift, r;

	r = (v > 0xffffffff) << 5;
	v >>= r;
	shift = (v > 0xffff) << 4;
	v >>= shift;
	r |= shift;
	shift = (v > 0xff) << 3;
	v >>= shift;
	r |= shift;
	shift = (v > 0xf) << 2;
	v >>= shift;
	r |= shift;
	shift = (v > 0x3) << 1;
	v >>= shift;
	return r | shift | v >> 1;
}

/* Global, like count_reached(), so that it is verified once, not on each path to it. */
__noinline int state_count(struct frbpf_rule_state *st, __u64 value)
{
	__u32 bucket = log2_of(value);
	__u64 max, i;

	if (!st)
		return 0;
	/* the compiler knows that `bucket` is in bounds, the verifier before 6.0 does not */
	barrier_var(bucket);
	if (bucket)
		__sync_fetch_and_add(&st->values[bucket % FRBPF_MAX_VALUES], 1);
	__sync_fetch_and_add(&st->sum, value);
	st->last_value = value;
	/* few attempts are enough: each CPU that wins a race has raised the maximum */
	for (i = 0; i < 4; i++) {
		max = *(volatile __u64 *)&st->max_value;
		if (value <= max || __sync_val_compare_and_swap(&st->max_value, max, value) == max)
			break;
	}
	return 0;
}

static __always_inline void key_of(const struct frbpf_rule *rule, const struct frbpf_rate *rate,
				   const struct match *m, struct frbpf_key *ret)
{
	__u32 field = rate->field;

	ret->rule_id = rule->id;
	ret->val[0] = ret->val[1] = 0;
	ret->per = rate->per;
	ret->field = field;
	if (ret->per == FRBPF_PER_RULE)
		return;
	if (ret->per == FRBPF_PER_FIELD && field == FRBPF_FIELD_CPU) {
		ret->val[0] = m->cpu; /* known even before values of tasks are */
	} else if (ret->per == FRBPF_PER_PROCESS) {
		ret->val[0] = m->process[0];
		ret->val[1] = m->process[1];
	} else if (ret->per == FRBPF_PER_THREAD) {
		ret->val[0] = m->thread[0];
		ret->val[1] = m->thread[1];
	} else if (ret->per == FRBPF_PER_CGROUP || field == FRBPF_FIELD_CGROUP) {
		ret->val[0] = m->own_cgroup;
	} else if (field < FRBPF_FIELD_MAX) {
		ret->val[0] = m->val[MATCH_SUBJECT][field][0];
		ret->val[1] = m->val[MATCH_SUBJECT][field][1];
	}
}

/* Count a new key. Wakes the daemon once per wake_keys, a quarter of the room. */
static __always_inline void key_made(const struct frbpf_rule *rule, struct frbpf_rule_state *st)
{
	__u64 n = __sync_fetch_and_add(&st->keys_made, 1) + 1;
	__u32 slot = rule->slot;

	if (st->wake_keys && n % st->wake_keys == 0)
		bpf_ringbuf_output(&keyed, &slot, sizeof(slot), BPF_RB_FORCE_WAKEUP);
}

/* Get the count that this match belongs to; NULL: no room for a new one. */
static __always_inline struct frbpf_count *
count_of(const struct frbpf_rule *rule, struct frbpf_rule_state *st, const struct match *m)
{
	struct frbpf_count *count;
	struct frbpf_key key;
	__u32 slot = rule->slot;
	void *counts;

	if (rule->count.per == FRBPF_PER_RULE)
		return &st->count;
	counts = bpf_map_lookup_elem(&counting, &slot);
	if (!counts)
		return NULL;
	key_of(rule, &rule->count, m, &key);
	count = bpf_map_lookup_elem(counts, &key);
	if (count)
		return count;
	/* the first CPU creates the entry */
	if (!bpf_map_update_elem(counts, &key, &no_count, BPF_NOEXIST))
		key_made(rule, st);
	return bpf_map_lookup_elem(counts, &key);
}

/* Count a match. Is it the n-th within the window, since the last trigger? */
__noinline int count_reached(struct frbpf_count *count, const struct frbpf_rate *rate, __u64 now)
{
	__u64 i, base, first, lap, k;

	if (!count || !rate)
		return 0;
	i = __sync_fetch_and_add(&count->seen, 1);
	lap = (i / FRBPF_COUNT_MAX + 1) % FRBPF_COUNT_MAX;
	count->times[i % FRBPF_COUNT_MAX] = now << FRBPF_COUNT_LAP_BITS | lap;
	count->until = now + rate->time;
	k = i + 1 - rate->n;
	for (__u32 attempt = 0; attempt < 4; attempt++) {
		base = *(volatile __u64 *)&count->base;
		if ((__s64)(k - base) < 0)
			return 0;
		first = *(volatile __u64 *)&count->times[k % FRBPF_COUNT_MAX];
		lap = (k / FRBPF_COUNT_MAX + 1) % FRBPF_COUNT_MAX;
		/* if the entry has another lap, another CPU is writing it */
		if (first % FRBPF_COUNT_MAX == lap &&
		    (__s64)(now - (first >> FRBPF_COUNT_LAP_BITS)) > (__s64)rate->time)
			return 0;
		if (__sync_val_compare_and_swap(&count->base, base, i + 1) == base)
			return 1;
	}
	return 0;
}

static __always_inline bool suppressed_until(__u32 slot, __u64 now)
{
	__u64 *until = bpf_map_lookup_elem(&suppress_times, &slot);

	return until && (__s64)(now - *until) < 0;
}

/* Is @pid one of our helper processes? Usually there are none. */
__noinline int is_helper(__u64 pid)
{
	__u32 slot = FRBPF_SUPPRESS_N_HELPERS, i;
	__u64 *n = bpf_map_lookup_elem(&suppress_times, &slot), *helper;

	if (!n || !*n)
		return 0;
	for (i = 0; i < FRBPF_MAX_HELPERS; i++) {
		if (i >= *n)
			break;
		slot = FRBPF_SUPPRESS_HELPERS + i;
		helper = bpf_map_lookup_elem(&suppress_times, &slot);
		if (helper && *helper == pid)
			return 1;
	}
	return 0;
}

/* Not a cause: values of tasks are needed, but not filled in yet. */
#define CAUSE_ASK_TASKS (FRBPF_CAUSE_MAX + 1)

/* Why this match is suppressed; FRBPF_CAUSE_NONE: it may fire, unless another CPU is first. */
static __always_inline __u32 cause_against(const struct frbpf_rule *rule,
					   struct frbpf_rule_state *st, const struct match *m,
					   bool counted)
{
	struct frbpf_count *count;

	if (rule->count.n > 1 && !counted) {
		count = count_of(rule, st, m);
		if (!count)
			return FRBPF_CAUSE_KEYS;
		if (!count_reached(count, &rule->count, m->now))
			return FRBPF_CAUSE_COUNT;
	}
	if (rule->flags & FRBPF_RULE_QUIET)
		return FRBPF_CAUSE_NONE;
	if (suppressed_until(rule->slot, m->now))
		return FRBPF_CAUSE_RULE_CAP;
	if (suppressed_until(FRBPF_SUPPRESS_ALL, m->now))
		return FRBPF_CAUSE_CAP;
	return FRBPF_CAUSE_NONE;
}

/* The present or last cooldown. */
struct cooldown {
	struct frbpf_key key;
	void *map; /* cooldowns of the rule by key; NULL: it has no keys */
	struct frbpf_cooldown_start *start;
	bool broken;	   /* it lasts, but the value breaks it */
	__u64 *last_fired; /* NULL: none yet */
	__u64 last;	   /* *last_fired when it was read */
};

static __always_inline bool cooldown_lasts(const struct frbpf_rule *rule, __u64 last, __u64 now)
{
	return rule->cooldown.time && last && (__s64)(now - last) < (__s64)rule->cooldown.time;
}

/* Does @value break the cooldown that began at @last? See struct frbpf_cooldown_start. */
static __always_inline bool value_escalates(const struct frbpf_rule *rule,
					    const struct frbpf_cooldown_start *start, __u64 last,
					    __u64 value)
{
	__u64 limit;

	if (!rule->escalate || *(volatile __u64 *)&start->of != last)
		return false;
	limit = *(volatile __u64 *)&start->value;
	limit = limit >> 48 ? limit / 100 * rule->escalate : limit * rule->escalate / 100;
	return limit && value >= limit;
}

static __always_inline void cooldown_start_set(struct frbpf_cooldown_start *start, __u64 of,
					       __u64 value)
{
	start->value = value;
	barrier();
	start->of = of;
}

static __always_inline bool is_cooling(const struct frbpf_rule *rule, struct frbpf_rule_state *st,
				       const struct match *m, struct cooldown *c)
{
	struct frbpf_cooling *of_key = NULL;
	__u32 slot = rule->slot;

	if (rule->cooldown.per == FRBPF_PER_RULE) {
		c->last_fired = &st->last_fired;
		c->start = &st->cooldown_start;
	} else {
		key_of(rule, &rule->cooldown, m, &c->key);
		c->map = bpf_map_lookup_elem(&cooling, &slot);
		if (c->map)
			of_key = bpf_map_lookup_elem(c->map, &c->key);
		if (of_key) {
			c->last_fired = &of_key->last_fired;
			c->start = &of_key->cooldown_start;
		}
	}
	c->last = c->last_fired ? *(volatile __u64 *)c->last_fired : 0;
	if (!cooldown_lasts(rule, c->last, m->now))
		return false;
	c->broken = c->start && value_escalates(rule, c->start, c->last, m->value);
	return !c->broken;
}

/*
 * Begin the cooldown. If several CPUs have a match at once, one begins it: the one that wins the
 * exchange, or creates the entry. `now` may be older than the time that another CPU stored, so
 * differences are signed.
 */
static __always_inline enum frbpf_cause cooldown_begin(const struct frbpf_rule *rule,
						       struct frbpf_rule_state *st,
						       const struct match *m, struct cooldown *c)
{
	struct frbpf_cooling fresh = { m->now, m->now + rule->cooldown.time, { m->now, m->value } };
	int err;

	if (!rule->cooldown.time)
		return FRBPF_CAUSE_NONE;
	if (!c->last_fired) {
		if (!c->map)
			return FRBPF_CAUSE_KEYS;
		err = bpf_map_update_elem(c->map, &c->key, &fresh, BPF_NOEXIST);
		if (!err) {
			key_made(rule, st);
			return FRBPF_CAUSE_NONE;
		}
		return err == -EEXIST ? FRBPF_CAUSE_COOLDOWN : FRBPF_CAUSE_KEYS;
	}
	if (__sync_val_compare_and_swap(c->last_fired, c->last, m->now) != c->last)
		return FRBPF_CAUSE_COOLDOWN;
	if (rule->cooldown.per != FRBPF_PER_RULE)
		c->last_fired[1] = fresh.until;
	if (c->start)
		cooldown_start_set(c->start, m->now, m->value);
	return FRBPF_CAUSE_NONE;
}

/* Do incidents report how many matches @cause suppressed, and the largest of them? */
static __always_inline bool cause_is_reported(enum frbpf_cause cause)
{
	return cause == FRBPF_CAUSE_COOLDOWN || cause == FRBPF_CAUSE_RULE_CAP ||
	       cause == FRBPF_CAUSE_CAP;
}

static __always_inline __u64 suppressed_so_far(const struct frbpf_rule_state *st)
{
	return st->suppressed[FRBPF_CAUSE_COOLDOWN] + st->suppressed[FRBPF_CAUSE_RULE_CAP] +
	       st->suppressed[FRBPF_CAUSE_CAP];
}

static __always_inline bool is_largest_suppressed(const struct frbpf_rule_state *st, __u64 value)
{
	return value > *(volatile const __u64 *)&st->since_last.value;
}

/* Record a suppressed match if it is the largest, unless another CPU is recording one. */
__noinline int suppressed_note(struct frbpf_rule_state *st, const struct match *m)
{
	if (!st || !m || !is_largest_suppressed(st, m->value) ||
	    __sync_val_compare_and_swap(&st->since_last_busy, 0, 1))
		return 0;
	if (is_largest_suppressed(st, m->value)) {
		st->since_last.value = m->value;
		st->since_last.time = m->now;
		task_record(&st->since_last.subject, m->val[MATCH_SUBJECT]);
	}
	__sync_lock_test_and_set(&st->since_last_busy, 0);
	return 0;
}

/* Move what was suppressed into a trigger, and start again. */
static __always_inline void suppressed_take(struct frbpf_rule_state *st,
					    struct frbpf_suppressed *ret)
{
	__u64 count = suppressed_so_far(st);

	__builtin_memcpy(ret, &st->since_last, sizeof(*ret));
	ret->count = count - ret->count;
	st->since_last.count = count;
	st->since_last.value = 0;
}

static __always_inline void state_suppress(struct frbpf_rule_state *st, enum frbpf_cause cause)
{
	if (cause < FRBPF_CAUSE_MAX)
		__sync_fetch_and_add(&st->suppressed[cause], 1);
}

#endif
