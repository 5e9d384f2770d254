// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "daemon/ended_sessions.h"

int ended_sessions__add(struct ended_sessions *e, const char *name, uint64_t again_at)
{
	char *copy = ARRAY_HAS_ROOM(e->v, e->n, e->cap, 8) ? strdup(name) : NULL;

	if (!copy)
		return -ENOMEM;
	e->v[e->n++] = (struct ended_session){ .name = copy, .again_at = again_at };
	return 0;
}

bool ended_sessions__has(const struct ended_sessions *e, const char *name)
{
	for (size_t i = 0; i < e->n; i++) {
		if (!strcmp(e->v[i].name, name))
			return true;
	}
	return false;
}

void ended_sessions__drop(const struct ended_sessions *e, struct ruleset *rs)
{
	for (size_t i = rs->n_sessions; i--;) {
		if (ended_sessions__has(e, rs->sessions[i].name))
			ruleset__drop_session(rs, i);
	}
}

void ended_sessions__clear(struct ended_sessions *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->v[i].name);
	free(e->v);
	*e = (struct ended_sessions){ 0 };
}
