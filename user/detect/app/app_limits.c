// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>

#include "detect/app/app_limits.h"
#include "rules/units.h"

#define TOKEN_NS (NSEC_PER_SEC / APP_LIMIT_RATE)

/* The bucket of @uid, or one that is full: nothing is forgotten with it. */
static struct app_bucket *find(struct app_limits *l, uid_t uid, uint64_t now)
{
	struct app_bucket *free = NULL;

	for (size_t i = 0; i < APP_LIMIT_USERS; i++) {
		struct app_bucket *b = &l->v[i];

		if (b->used && b->uid == uid)
			return b;
		if (!free && (!b->used || b->full_at <= now))
			free = b;
	}
	if (free)
		*free = (struct app_bucket){ .uid = uid, .used = true };
	return free;
}

bool app_limits__take(struct app_limits *l, uid_t uid, uint64_t now)
{
	struct app_bucket *b = find(l, uid, now);
	uint64_t full_at;

	if (!b)
		return false;
	full_at = (b->full_at > now ? b->full_at : now) + TOKEN_NS;
	if (full_at > now + APP_LIMIT_BURST * TOKEN_NS)
		return false;
	b->full_at = full_at;
	return true;
}
