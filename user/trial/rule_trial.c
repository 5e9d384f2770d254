// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* out of memory: hh.tbl is NULL */
#include <uthash.h>

#include "trial/rule_trial.h"

/* A cooldown or a count for one key: as struct frbpf_cooling and struct frbpf_count. */
struct trial_rate {
	UT_hash_handle hh;
	struct frbpf_key key;
	uint64_t until; /* expires then */
	uint64_t last;	/* of a cooldown: its start; value: what started it */
	uint64_t value;
	uint64_t seen, base; /* of a count */
	uint64_t times[FRBPF_COUNT_MAX];
	struct frbpf_share share;
};

struct rule_trial {
	const struct rule_conf *rule;
	struct trial_rate *cooling, *counting, *sharing; /* by key; owned */
	uint64_t value;					 /* ns: of the last match */
	uint64_t suppress_rule, suppress_all;		 /* ns: matches are suppressed until then */
	uint64_t heard, silent;				 /* as in struct frbpf_rule_state */
	uint64_t matched_at; /* ns: its last match, for rules that it is a part of; 0: none */
	bool matches;	     /* the event of the last try matched */
	struct trial_counts counts;
};

int rule_trial__new(const struct rule_conf *rule, struct rule_trial **ret)
{
	struct rule_trial *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->rule = rule;
	*ret = t;
	return 0;
}

static void trial_rates_free(struct trial_rate **rates, uint64_t older_than)
{
	struct trial_rate *r, *next;

	HASH_ITER (hh, *rates, r, next) {
		if (r->until >= older_than)
			continue;
		HASH_DEL(*rates, r);
		free(r);
	}
}

void rule_trial__free(struct rule_trial *t)
{
	if (!t)
		return;
	trial_rates_free(&t->cooling, UINT64_MAX);
	trial_rates_free(&t->counting, UINT64_MAX);
	trial_rates_free(&t->sharing, UINT64_MAX);
	free(t);
}

const struct trial_counts *rule_trial__counts(const struct rule_trial *t)
{
	return &t->counts;
}

uint64_t rule_trial__value(const struct rule_trial *t)
{
	return t->value;
}

void rule_trial__suppress(struct rule_trial *t, enum frbpf_cause cause, uint64_t until)
{
	*(cause == FRBPF_CAUSE_CAP ? &t->suppress_all : &t->suppress_rule) = until;
}

static struct frbpf_key trial_key(const struct rate *rate, const struct trial_event *e)
{
	struct frbpf_key key = { .per = rate->per, .field = rate->field };
	const uint64_t *val = NULL;

	if (rate->per == FRBPF_PER_PROCESS)
		val = e->process;
	else if (rate->per == FRBPF_PER_THREAD)
		val = e->thread;
	if (val) {
		key.val[0] = val[0];
		key.val[1] = val[1];
	} else if (rate->per == FRBPF_PER_CGROUP ||
		   (rate->per == FRBPF_PER_FIELD && rate->field == FRBPF_FIELD_CGROUP)) {
		key.val[0] = e->own_cgroup;
	} else if (rate->per == FRBPF_PER_FIELD && rate->field < FRBPF_FIELD_MAX) {
		key.val[0] = e->subject.val[0][rate->field][0];
		key.val[1] = e->subject.val[0][rate->field][1];
	}
	return key;
}

/* Get the entry of @key; adds it if it is new. -ENOSPC: as many as the kernel has room for. */
static int trial_rate_get(struct trial_rate **rates, size_t most, const struct frbpf_key *key,
			  uint64_t now, struct trial_rate **ret)
{
	struct trial_rate *r;

	HASH_FIND(hh, *rates, key, sizeof(*key), r);
	if (!r) {
		if (HASH_COUNT(*rates) >= most)
			trial_rates_free(rates, now);
		if (HASH_COUNT(*rates) >= most)
			return -ENOSPC;
		r = calloc(1, sizeof(*r));
		if (!r)
			return -ENOMEM;
		r->key = *key;
		HASH_ADD(hh, *rates, key, sizeof(*key), r);
		if (!r->hh.tbl) {
			free(r);
			return -ENOMEM;
		}
	}
	*ret = r;
	return 0;
}

/*
 * Count a match. Is it the n-th within the window since the last trigger? See count_reached() in
 * bpf/rates.bpf.h.
 */
static bool trial_count_reached(struct trial_rate *r, const struct rate *rate, uint64_t now)
{
	uint64_t i = r->seen++, k = i + 1 - rate->n;

	r->times[i % FRBPF_COUNT_MAX] = now;
	r->until = now + rate->time;
	if ((int64_t)(k - r->base) < 0 || now - r->times[k % FRBPF_COUNT_MAX] > rate->time)
		return false;
	r->base = i + 1;
	return true;
}

/* Does the value end the cooldown early? See value_escalates() in bpf/rates.bpf.h. */
static bool trial_escalates(const struct rule_conf *rule, const struct trial_rate *r,
			    uint64_t value)
{
	uint64_t limit = r->value;

	if (!rule->escalate || !when__compares(&rule->when))
		return false;
	limit = limit >> 48 ? limit / 100 * rule->escalate : limit * rule->escalate / 100;
	return limit && value >= limit;
}

/*
 * Check the cooldown. 0: the rule fires and a cooldown begins; 1: one is in force; or negative
 * errno.
 */
static int trial_cooldown(struct rule_trial *t, const struct trial_event *e)
{
	const struct rate *rate = &t->rule->cooldown;
	struct frbpf_key key = trial_key(rate, e);
	struct trial_rate *r;
	int err;

	if (!rate->time)
		return 0;
	err = trial_rate_get(&t->cooling, FRBPF_MAX_COOLING, &key, e->time, &r);
	if (err)
		return err;
	if (r->last && (int64_t)(e->time - r->last) < (int64_t)rate->time &&
	    !trial_escalates(t->rule, r, e->value))
		return 1;
	r->last = e->time;
	r->value = e->value;
	r->until = e->time + rate->time;
	return 0;
}

/*
 * Get the cause that suppresses a match; FRBPF_CAUSE_NONE: it fires; or negative errno. The order
 * is that of bpf/rules.bpf.h.
 */
static int trial_cause(struct rule_trial *t, const struct trial_event *e)
{
	const struct rate *count = &t->rule->count;
	struct trial_rate *r;
	int err;

	if (count->n > 1) {
		struct frbpf_key key = trial_key(count, e);

		err = trial_rate_get(&t->counting, FRBPF_MAX_COUNTING, &key, e->time, &r);
		if (err)
			return err == -ENOSPC ? (int)FRBPF_CAUSE_KEYS : err;
		if (!trial_count_reached(r, count, e->time))
			return FRBPF_CAUSE_COUNT;
	}
	if (!t->rule->quiet && e->time < t->suppress_rule)
		return FRBPF_CAUSE_RULE_CAP;
	if (!t->rule->quiet && e->time < t->suppress_all)
		return FRBPF_CAUSE_CAP;
	err = trial_cooldown(t, e);
	if (err > 0)
		return FRBPF_CAUSE_COOLDOWN;
	return !err ? (int)FRBPF_CAUSE_NONE : err == -ENOSPC ? (int)FRBPF_CAUSE_KEYS : err;
}

/* Count a match, and decide whether it fires. */
static int trial_match(struct rule_trial *t, const struct trial_event *e,
		       enum frbpf_cause *ret_cause)
{
	int cause = trial_cause(t, e);

	if (cause < 0)
		return cause;
	t->counts.matched++;
	t->value = e->value;
	if (e->value > t->counts.max_value)
		t->counts.max_value = e->value;
	if (cause == FRBPF_CAUSE_NONE) {
		t->counts.fired++;
		return TRIAL_FIRED;
	}
	t->counts.suppressed[cause]++;
	*ret_cause = cause;
	return TRIAL_SUPPRESSED;
}

static bool trial_reached(const struct when *when, const struct trial_event *e)
{
	if (when->fails)
		return e->error &&
		       (when->any_errno || (e->error < FRBPF_ERRNO_MAX &&
					    when->errnos[e->error / 64] >> (e->error % 64) & 1));
	return when->hit || e->value > (when->share.time ? 0 : when->threshold);
}

static bool trial_has_key(const struct when *when, uint32_t key)
{
	if (!when__has_keys(when->source))
		return true;
	return key < FRBPF_KEY_MAX && when->keys[key / 64] >> (key % 64) & 1;
}

/* ---- shares of time: see bpf/shares.bpf.h ---- */

#define SHARE_MASK ((1ULL << FRBPF_SHARE_SUM_BITS) - 1)

static uint64_t share_lap(uint64_t slice)
{
	return slice / FRBPF_SHARE_BUCKETS << FRBPF_SHARE_SUM_BITS;
}

static void share_put(struct frbpf_share *s, uint64_t slice, uint64_t ns)
{
	__u64 *at = &s->slices[slice % FRBPF_SHARE_BUCKETS], lap = share_lap(slice);

	*at = (*at & ~SHARE_MASK) == lap ? *at + ns : (lap | ns);
}

static uint64_t share_get(const struct frbpf_share *s, uint64_t slice)
{
	uint64_t v = s->slices[slice % FRBPF_SHARE_BUCKETS];

	return (v & ~SHARE_MASK) == share_lap(slice) ? v & SHARE_MASK : 0;
}

/* Add @value, which ended at @now. Returns the sum of the window, ns. */
static uint64_t share_add(struct frbpf_share *s, uint64_t window, uint64_t now, uint64_t value)
{
	uint64_t length = window / FRBPF_SHARE_SLICES, slice = now / length, start = slice * length;
	uint64_t begin = now - (value < window ? value : window), end = now, sum = 0;

	for (int i = 0; i <= FRBPF_SHARE_SLICES; i++) {
		uint64_t n;

		if (begin < end)
			share_put(s, slice, end - (begin > start ? begin : start));
		n = share_get(s, slice);
		if (i == FRBPF_SHARE_SLICES)
			n = ((n >> 10) * ((length - (now - start - i * length)) >> 10) /
			     ((length >> 10) + 1))
			    << 10;
		sum += n;
		if (!slice--)
			break;
		end = start;
		start -= length;
	}
	return sum;
}

/* Add the value of @e. It matches if the sum exceeds the limit. Returns as rule_trial__try(). */
static int trial_share(struct rule_trial *t, const struct trial_event *e,
		       enum frbpf_cause *ret_cause)
{
	const struct when_share *share = &t->rule->when.share;
	const struct rate rate = { .per = share->per, .field = share->field };
	struct frbpf_key key = trial_key(&rate, e);
	struct trial_event sum = *e;
	struct trial_rate *r;
	int err = trial_rate_get(&t->sharing, FRBPF_MAX_SHARING, &key, e->time, &r);

	if (err == -ENOSPC) {
		t->counts.suppressed[FRBPF_CAUSE_KEYS]++;
		*ret_cause = FRBPF_CAUSE_KEYS;
		return TRIAL_SUPPRESSED;
	}
	if (err)
		return err;
	r->until = e->time + share->time;
	sum.value = share_add(&r->share, share->time, e->time, e->value);
	return sum.value > t->rule->when.threshold ? trial_match(t, &sum, ret_cause) : TRIAL_NO;
}

static int trial_try(struct rule_trial *t, const struct trial_event *e, enum frbpf_cause *ret_cause)
{
	const struct when *when = &t->rule->when;
	enum expr_holds holds;

	if (!trial_reached(when, e) || !trial_has_key(when, e->key))
		return TRIAL_NO;
	holds = expr__holds(&t->rule->expr, &e->subject);
	if (when->all_calls && !when->fails) {
		if (e->waits == EXPR_HOLDS)
			return TRIAL_NO;
		if (e->waits == EXPR_MAY_HOLD && holds == EXPR_HOLDS)
			holds = EXPR_MAY_HOLD;
	}
	if (holds == EXPR_HOLDS_NOT)
		return TRIAL_NO;
	if (holds == EXPR_MAY_HOLD) {
		t->counts.maybe++;
		return TRIAL_MAYBE;
	}
	if (when->share.time)
		return trial_share(t, e, ret_cause);
	if (!when->silence)
		return trial_match(t, e, ret_cause);
	if (e->time > t->heard)
		t->heard = e->time;
	return TRIAL_HEARD;
}

/* ---- rules about others: see bpf/rules.bpf.h ---- */

/* Does a match count for rules about this one? Only if its key had room and `count` is reached. */
static bool match_counts_as_part(int outcome, enum frbpf_cause cause)
{
	return outcome == TRIAL_FIRED || (outcome == TRIAL_SUPPRESSED &&
					  cause != FRBPF_CAUSE_COUNT && cause != FRBPF_CAUSE_KEYS);
}

int rule_trial__try(struct rule_trial *t, const struct trial_event *e, enum frbpf_cause *ret_cause)
{
	enum frbpf_cause cause = FRBPF_CAUSE_NONE;
	int outcome = trial_try(t, e, &cause);

	t->matches = match_counts_as_part(outcome, cause);
	if (t->matches)
		t->matched_at = e->time;
	if (outcome == TRIAL_SUPPRESSED)
		*ret_cause = cause;
	return outcome;
}

static bool part_in_time(const struct rule_trial *part, const struct when_parts *when, uint64_t now)
{
	int64_t age = (int64_t)(now - part->matched_at);

	return part->matched_at && age <= (int64_t)when->within && !(when->ordered && age <= 0);
}

int rule_trial__try_after(struct rule_trial *t, const struct trial_parts *parts,
			  const struct trial_event *e, enum frbpf_cause *ret_cause)
{
	if (!parts->last->matches)
		return TRIAL_NO;
	for (uint32_t i = 0; i < parts->n_others; i++) {
		if (!part_in_time(parts->others[i], &t->rule->when.parts, e->time))
			return TRIAL_NO;
	}
	return trial_match(t, e, ret_cause);
}

int rule_trial__pass(struct rule_trial *t, uint64_t now, struct trial_event *ret,
		     enum frbpf_cause *ret_cause)
{
	uint64_t silence = t->rule->when.silence;

	if (!silence)
		return TRIAL_NO;
	if (!t->heard)
		t->heard = now;
	if (t->silent == t->heard || now <= t->heard || now - t->heard <= silence)
		return TRIAL_NO;
	t->silent = t->heard;
	*ret = (struct trial_event){ .time = t->heard + silence, .value = silence };
	return trial_match(t, ret, ret_cause);
}

void rule_trial__break(struct rule_trial *t)
{
	t->heard = t->matched_at = 0;
	t->matches = false;
}
