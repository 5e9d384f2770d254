// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "dump/base/base_clock.h"
#include "dump/base/base_scan.h"
#include "dump/base/removal_log.h"
#include "dump/base/manifest.h"
#include "dump/base/retention.h"
#include "rules/units.h"

/* The order of removal. */
enum rank {
	RANK_EMPTY,  /* has no files, and must not displace one that has */
	RANK_REPEAT, /* a newer one has the same rule and subject */
	RANK_OTHER,
	RANK_NEWEST_OF_RULE,
	RANK_NEWEST, /* the newest of all: stays, however large */
};

struct kept {
	const struct base_incident *inc;
	json_t *manifest;	    /* NULL: it cannot be read. Owned */
	uint64_t time;		    /* ns of the base's clock */
	const char *rule, *subject; /* without a rule: the reason */
	enum rank rank;
	bool over_quota; /* each of its sessions has enough newer incidents */
	const char *why; /* reason of removal; NULL: it stays */
};

/*
 * Read the manifest of an incident. @now is CLOCK_REALTIME: it gives the age of a manifest without
 * a time of the base's clock.
 */
static void read_kept(const struct base_scan *s, uint64_t now, struct kept *k)
{
	json_t *m = manifest__load(s->b, k->inc->name);
	const json_t *t = json_array_get(json_object_get(m, "triggers"), 0);
	const json_t *subject = json_object_get(t, "subject"),
		     *time = json_object_get(m, "base_ns");
	uint64_t base_now = base_clock__now(s->b);
	uint64_t age = now > k->inc->written ? now - k->inc->written : 0;

	k->manifest = m;
	k->time = json_is_integer(time) ? (uint64_t)json_integer_value(time) : base_now - age;
	k->rule = json_string_value(json_object_get(t, "rule")) ?: "";
	k->subject = json_string_value(json_object_get(subject, "comm"))
			     ?: json_string_value(json_object_get(t, "reason")) ?: "";
}

/*
 * Order by the base's clock: names have the wall clock, which can be set. Signed: manifests older
 * than the base's clock have times below 0.
 */
static int compare_kept_times(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->time != y->time)
		return (int64_t)x->time < (int64_t)y->time ? -1 : 1;
	return strcmp(x->inc->name, y->inc->name);
}

static int compare_removal_ranks(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : compare_kept_times(a, b);
}

/* Rank incidents for removal. @v is sorted by time. */
static void rank_incidents(struct kept *v, size_t n)
{
	bool newest = true;

	for (size_t i = n; i-- > 0;) {
		struct kept *k = &v[i];

		k->rank = RANK_NEWEST_OF_RULE;
		for (size_t later = i + 1; later < n && k->rank != RANK_REPEAT; later++) {
			if (!v[later].inc->n_dumps || strcmp(v[later].rule, k->rule) != 0)
				continue;
			k->rank = strcmp(v[later].subject, k->subject) ? RANK_OTHER : RANK_REPEAT;
		}
		if (!k->inc->n_dumps)
			k->rank = RANK_EMPTY;
		else if (newest)
			k->rank = RANK_NEWEST;
		newest = newest && !k->inc->n_dumps;
	}
}

/* Index of the session's quota; n_quotas: it has none. */
static size_t find_session_quota(const struct retention_limits *l, const char *session)
{
	size_t i = 0;

	while (i < l->n_quotas &&
	       (!l->quotas[i].of_session || strcmp(l->quotas[i].reason, session) != 0))
		i++;
	return i;
}

/*
 * Count an incident without a rule for its sessions. True: each of them has enough newer incidents.
 */
static bool count_sessions(const struct kept *k, const struct retention_limits *l, uint32_t *newer)
{
	const json_t *sessions = json_object_get(k->manifest, "sessions"), *s;
	bool over = json_array_size(sessions) > 0;
	size_t i;

	json_array_foreach (sessions, i, s) {
		const char *name = json_string_value(json_object_get(s, "name"));
		size_t q = find_session_quota(l, name ?: "");

		if (q == l->n_quotas)
			over = false;
		else if (newer[q]++ < l->quotas[q].max)
			over = false;
	}
	return over;
}

/* Set over_quota. @v is sorted by time. */
static void apply_session_quotas(struct kept *v, size_t n, const struct retention_limits *l)
{
	uint32_t newer[RETENTION_QUOTAS_MAX] = { 0 };

	for (size_t i = n; i-- > 0;)
		if (!v[i].rule[0])
			v[i].over_quota = count_sessions(&v[i], l, newer);
}

static bool is_busy(const struct kept *k, char (*busy)[INCIDENT_NAME_SIZE], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(k->inc->name, busy[i]) == 0)
			return true;
	}
	return false;
}

static bool incident_is_too_old(const struct kept *k, const struct retention_limits *l,
				uint64_t base_now)
{
	return l->max_age && (int64_t)(base_now - k->time) > (int64_t)l->max_age;
}

static const char *limit_exceeded(const struct retention_limits *l, uint64_t incidents,
				  uint64_t bytes)
{
	if (l->max_size && bytes > l->max_size)
		return "max-size";
	return l->max_incidents && incidents > l->max_incidents ? "max-incidents" : NULL;
}

static void choose_incident(struct kept *k, const char *why, uint64_t *incidents, uint64_t *bytes)
{
	k->why = why;
	*bytes -= k->inc->bytes;
	(*incidents)--;
}

/* @v is sorted by time within each reason. */
static void choose_by_quota(struct kept *v, size_t n, const struct retention_quota *q,
			    uint64_t *incidents, uint64_t *bytes)
{
	size_t there = 0;

	if (q->of_session)
		return;
	for (size_t i = 0; i < n; i++)
		there += !v[i].rule[0] && !strcmp(v[i].subject, q->reason);
	for (size_t i = 0; i < n && there > q->max; i++) {
		if (v[i].rule[0] || strcmp(v[i].subject, q->reason) != 0)
			continue;
		there--;
		if (!v[i].why)
			choose_incident(&v[i], "switch-max-files", incidents, bytes);
	}
}

static bool remove_incident(const struct base_scan *s, const struct base_incident *inc,
			    struct retention_report *ret)
{
	uint64_t failed;
	int err = base_scan__remove(s, inc, &failed);

	if (!err)
		return true;
	ret->error = err;
	ret->failed += failed;
	return false;
}

/* Mark incidents for removal, with a reason: by age, then by quota, then by rank. */
static void choose_incidents(struct kept *v, size_t n, const struct retention_limits *l,
			     uint64_t bytes, uint64_t base_now)
{
	/*
	 * an incident that cannot be removed yet counts as removed, so that no newer incident is
	 * removed instead
	 */
	uint64_t incidents = n;

	for (size_t i = 0; i < n; i++) {
		if (!incident_is_too_old(&v[i], l, base_now))
			continue;
		choose_incident(&v[i], "max-age", &incidents, &bytes);
	}
	for (size_t i = 0; i < l->n_quotas; i++)
		choose_by_quota(v, n, &l->quotas[i], &incidents, &bytes);
	for (size_t i = 0; i < n; i++)
		if (v[i].over_quota && !v[i].why)
			choose_incident(&v[i], "switch-max-files", &incidents, &bytes);
	for (size_t i = 0; i < n; i++) {
		const char *why = limit_exceeded(l, incidents, bytes);

		if (!why || v[i].why || v[i].rank == RANK_NEWEST)
			continue;
		choose_incident(&v[i], why, &incidents, &bytes);
	}
}

/*
 * Log removals before they happen. If we are killed in between, the incident still exists, and
 * readers list it as an existing one.
 */
static int log_removals(const struct base_dir *b, const struct kept *v, size_t n)
{
	struct buf lines = { 0 };
	struct err err;
	int code = 0;

	for (size_t i = 0; i < n && !code; i++) {
		if (v[i].why)
			code = removal_log__add(&lines, v[i].inc->name, v[i].manifest, v[i].why,
						v[i].inc->bytes);
	}
	if (!code && lines.len)
		code = removal_log__write(b, &lines, &err);
	buf__free(&lines);
	return code;
}

/* Unmark busy incidents, and find the time when the next one is too old. */
static void plan_next_removal(struct kept *v, size_t n, const struct retention_limits *l,
			      uint64_t base_now, char (*busy)[INCIDENT_NAME_SIZE], size_t n_busy,
			      struct retention_report *ret)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t end = v[i].time + l->max_age;

		if (v[i].why && is_busy(&v[i], busy, n_busy)) {
			ret->waiting = true;
			v[i].why = NULL;
		} else if (!v[i].why && l->max_age && (!ret->next || end - base_now < ret->next)) {
			ret->next = end > base_now ? end - base_now : 1;
		}
	}
}

static void apply_limits(const struct base_scan *s, struct kept *v, size_t n,
			 const struct retention_limits *l, char (*busy)[INCIDENT_NAME_SIZE],
			 size_t n_busy, struct retention_report *ret)
{
	uint64_t base_now = base_clock__now(s->b);

	choose_incidents(v, n, l, ret->bytes, base_now);
	plan_next_removal(v, n, l, base_now, busy, n_busy, ret);
	log_removals(s->b, v, n); /* incidents are removed even if this fails, as on a full disk */
	for (size_t i = 0; i < n; i++) {
		if (!v[i].why || !remove_incident(s, v[i].inc, ret))
			continue;
		ret->bytes -= v[i].inc->bytes;
		ret->incidents--;
		ret->removed_bytes += v[i].inc->bytes;
		ret->removed_incidents++;
	}
}

/*
 * Count all incidents, and finish interrupted removals. Returns the number of complete ones in @v,
 * in the order of removal; 0 if there is no limit.
 */
static size_t list_kept(const struct base_scan *s, struct kept *v, uint64_t now,
			const struct retention_limits *l, struct retention_report *ret)
{
	bool limited = l->max_size || l->max_incidents || l->max_age || l->n_quotas;
	size_t n = 0;

	ret->bytes = s->tmp_bytes;
	for (size_t i = 0; i < s->n; i++) {
		const struct base_incident *inc = &s->v[i];

		if (inc->files & BASE_GONE && remove_incident(s, inc, ret))
			continue;
		ret->bytes += inc->bytes;
		if (inc->files & BASE_MANIFEST && !(inc->files & BASE_GONE))
			v[n++] = (struct kept){ .inc = inc };
	}
	ret->incidents = n;
	if (!limited || !n)
		return 0;
	for (size_t i = 0; i < n; i++)
		read_kept(s, now, &v[i]);
	qsort(v, n, sizeof(*v), compare_kept_times);
	rank_incidents(v, n);
	apply_session_quotas(v, n, l);
	qsort(v, n, sizeof(*v), compare_removal_ranks);
	return n;
}

int retention__apply(const struct base_dir *b, const struct retention_limits *limits, uint64_t now,
		     char (*busy)[INCIDENT_NAME_SIZE], size_t n_busy, struct retention_report *ret)
{
	struct retention_report report = { 0 };
	_cleanup_free_ struct kept *v = NULL;
	struct base_scan s;
	int err = base_scan__read(b, &s);

	if (!err) {
		v = calloc(s.n + 1, sizeof(*v));
		err = v ? 0 : -ENOMEM;
	}
	if (!err) {
		size_t n = list_kept(&s, v, now, limits, &report);

		apply_limits(&s, v, n, limits, busy, n_busy, &report);
		for (size_t i = 0; i < n; i++)
			json_decref(v[i].manifest);
		*ret = report;
	}
	base_scan__free(&s);
	return err;
}
