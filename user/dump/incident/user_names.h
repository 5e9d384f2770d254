/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks up the functions of user frames. The lookup comes last, because it opens files of other
 * users. Requests are collected while the side band's slice exists; the lookup does not need the
 * slice. Life: add; ask, in any thread; take over into the frames; free.
 */
#ifndef FRBPF_DUMP_INCIDENT_USER_NAMES_H
#define FRBPF_DUMP_INCIDENT_USER_NAMES_H

#include "examine/examiner.h"
#include "symbols/map_list.h"

struct incident;
struct user_names;

/*
 * Request the name of frame @frame of the user part of stack @stack. It was at address @at, which
 * is in @map of process @pid. *names is NULL at first. 0, also if it cannot be looked up, or
 * -ENOMEM.
 */
int user_names__add(struct user_names **names, uint32_t pid, const struct map *map, uint64_t at,
		    size_t stack, size_t frame);

/* Move the requests of @more (NULL is legal) into *names. */
void user_names__join(struct user_names **names, struct user_names *more);

/* Look up all names until @deadline, ns. False: some have no answer, see examiner__ask(). */
bool user_names__ask(struct user_names *names, struct examiner *examiner, uint64_t deadline);

/* Put the answers into the incident's stacks. 0 or -ENOMEM. */
int user_names__take_over(struct user_names *names, struct incident *inc);

void user_names__free(struct user_names *names);

#endif
