/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that frames of user stacks are in, asked for after all that can be told without opening files of others
 * is on disk. What is to be asked is collected while the side band's slice is at hand; it needs no slice
 * later. Life: add; ask, in any thread; then take over into the frames; free.
 */
#ifndef FRBPF_DUMP_INCIDENT_USER_NAMES_H
#define FRBPF_DUMP_INCIDENT_USER_NAMES_H

#include "examine/examiner.h"
#include "symbols/map_list.h"

struct incident;
struct user_names;

/* Frame @frame of the user's part of stack @stack was at @at, an address of @map, which @pid had. *names: NULL at first.
 * 0, also where nothing can be asked, or -ENOMEM. */
int user_names__add(struct user_names **names, uint32_t pid, const struct map *map, uint64_t at,
		    size_t stack, size_t frame);

/* Take @more (NULL is legal) over into *names. */
void user_names__join(struct user_names **names, struct user_names *more);

/* Ask for all of them until @deadline, ns. False: some were not answered, see examiner__ask(). */
bool user_names__ask(struct user_names *names, struct examiner *examiner, uint64_t deadline);

/* Put what is known into the incident's stacks. 0 or -ENOMEM. */
int user_names__take_over(struct user_names *names, struct incident *inc);

void user_names__free(struct user_names *names);

#endif
