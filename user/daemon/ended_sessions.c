// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "daemon/ended_sessions.h"

int ended_sessions__add(struct ended_sessions *e, const char *name)
{
	if (!ARRAY_HAS_ROOM(e->names, e->n, e->cap, 8))
		return -ENOMEM;
	e->names[e->n] = strdup(name);
	if (!e->names[e->n])
		return -ENOMEM;
	e->n++;
	return 0;
}

static bool has_ended(const struct ended_sessions *e, const char *name)
{
	for (size_t i = 0; i < e->n; i++) {
		if (!strcmp(e->names[i], name))
			return true;
	}
	return false;
}

void ended_sessions__drop(const struct ended_sessions *e, struct ruleset *rs)
{
	for (size_t i = rs->n_sessions; i--;) {
		if (has_ended(e, rs->sessions[i].name))
			ruleset__drop_session(rs, i);
	}
}

void ended_sessions__clear(struct ended_sessions *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->names[i]);
	free(e->names);
	*e = (struct ended_sessions){ 0 };
}
