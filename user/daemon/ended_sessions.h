/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sessions that have ended, although they are in the rules: by a signal, with their command, or
 * with their tasks.
 */
#ifndef FRBPF_DAEMON_ENDED_SESSIONS_H
#define FRBPF_DAEMON_ENDED_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules/ruleset.h"

struct ended_session {
	char *name;	   /* owned */
	uint64_t again_at; /* ns: time of the next start; UINT64_MAX: it does not start again */
	bool tried;	   /* a start failed */
};

struct ended_sessions {		 /* { 0 } is none */
	struct ended_session *v; /* owned */
	size_t n, cap;
};

/* 0 or -ENOMEM. */
int ended_sessions__add(struct ended_sessions *e, const char *name, uint64_t again_at);
bool ended_sessions__has(const struct ended_sessions *e, const char *name);
/* Remove ended sessions from @rs, which was made from the same text. */
void ended_sessions__drop(const struct ended_sessions *e, struct ruleset *rs);
/* Forget all of them: the rules were read again, with all sessions. */
void ended_sessions__clear(struct ended_sessions *e);

#endif
