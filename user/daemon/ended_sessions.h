/* SPDX-License-Identifier: GPL-2.0-only */
/* Sessions of the rules in force that have ended before them: by a signal, or with their command. */
#ifndef FRBPF_DAEMON_ENDED_SESSIONS_H
#define FRBPF_DAEMON_ENDED_SESSIONS_H

#include "rules/ruleset.h"

struct ended_sessions { /* { 0 } is none */
	char **names;	/* owned */
	size_t n, cap;
};

/* 0 or -ENOMEM. */
int ended_sessions__add(struct ended_sessions *e, const char *name);
/* Take them out of @rs, which was made of the same text. */
void ended_sessions__drop(const struct ended_sessions *e, struct ruleset *rs);
/* The rules were read anew, with all of their sessions. */
void ended_sessions__clear(struct ended_sessions *e);

#endif
