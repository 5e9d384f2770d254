// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/buf.h"
#include "detect/app/app_limits.h"
#include "rules/units.h"

#define TOKEN_NS   (NSEC_PER_SEC / APP_LIMIT_RATE)
#define SUBUID	   "/etc/subuid"
#define SUBUID_MAX (1 << 20)

/* ---- whose uid it is ---- */

static bool parse_uid(const char *s, uid_t *ret)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);

	if (end == s || *end || n > UINT32_MAX)
		return false;
	*ret = n;
	return true;
}

/* All ranges of an owner get the `user` of its first range. */
static void add_id_range(struct app_limits *l, const char **owners, char *line)
{
	char *first = strchr(line, ':'), *n = first ? strchr(first + 1, ':') : NULL;
	struct app_range r;

	if (!n || l->n_ranges == APP_LIMIT_RANGES)
		return;
	*first++ = '\0';
	*n++ = '\0';
	if (!parse_uid(first, &r.first) || !parse_uid(n, &r.n) || !r.n)
		return;
	r.user = r.first;
	for (size_t i = 0; i < l->n_ranges; i++) {
		if (!strcmp(owners[i], line)) {
			r.user = l->ranges[i].user;
			break;
		}
	}
	owners[l->n_ranges] = line;
	l->ranges[l->n_ranges++] = r;
}

void app_limits__set_ranges(struct app_limits *l, char *text)
{
	const char *owners[APP_LIMIT_RANGES];
	char *save = NULL;

	l->n_ranges = 0;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		add_id_range(l, owners, line);
}

static uid_t user_of(const struct app_limits *l, uid_t uid)
{
	for (size_t i = 0; i < l->n_ranges; i++) {
		if (uid - l->ranges[i].first < l->ranges[i].n)
			return l->ranges[i].user;
	}
	return uid;
}

void app_limits__init(struct app_limits *l)
{
	struct buf b = { 0 };

	if (getrandom(&l->seed, sizeof(l->seed), GRND_NONBLOCK) != sizeof(l->seed))
		l->seed = (uintptr_t)l;
	if (!buf__read_file(&b, SUBUID, SUBUID_MAX) && b.len)
		app_limits__set_ranges(l, b.data);
	buf__free(&b);
}

/* ---- buckets ---- */

/*
 * Get the bucket of @uid. If it has none, take over a full bucket: it records nothing that matters
 * any more. If no bucket is full, share the fullest.
 */
static struct app_bucket *find_bucket(struct app_limits *l, uid_t uid, uint64_t now)
{
	uint64_t hash = (uid ^ l->seed) * 0x9e3779b97f4a7c15ULL;
	struct app_bucket *set = l->v[(hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ULL >> 56],
			  *best = set;

	_Static_assert(APP_LIMIT_SETS == 256, "8 bits of the hash");
	for (size_t i = 0; i < APP_LIMIT_WAYS; i++) {
		if (set[i].used && set[i].uid == uid)
			return &set[i];
		if (set[i].full_at < best->full_at)
			best = &set[i];
	}
	if (!best->used || best->full_at <= now)
		*best = (struct app_bucket){ .uid = uid, .used = true };
	return best;
}

bool app_limits__take(struct app_limits *l, uid_t uid, uint64_t now)
{
	struct app_bucket *b = find_bucket(l, user_of(l, uid), now);
	uint64_t full_at = (b->full_at > now ? b->full_at : now) + TOKEN_NS;

	if (full_at > now + APP_LIMIT_BURST * TOKEN_NS)
		return false;
	b->full_at = full_at;
	return true;
}
