/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time from which names may still be needed: the time of the oldest record in the rings of all
 * sessions. It knows all recording sessions, from start to close. Locks itself.
 */
#ifndef FRBPF_DUMP_RINGS_HORIZON_H
#define FRBPF_DUMP_RINGS_HORIZON_H

#include <stddef.h>
#include <stdint.h>

#include "record/session.h"

struct horizon;

int horizon__new(struct horizon **ret); /* -ENOMEM */
void horizon__free(struct horizon *h);

/* Add a recording session, borrowed until it is removed. 0 or -ENOMEM. */
int horizon__add(struct horizon *h, struct session *s);
/* Remove @s, if it is there. */
void horizon__remove(struct horizon *h, const struct session *s);

/* Call @fn for each session, under the lock. */
void horizon__each_session(struct horizon *h, void (*fn)(struct session *s, void *arg), void *arg);

/*
 * The earliest start, ns, of a window in which every CPU is complete, if its rings are frozen now
 * or later. Without sessions, now. The value is never too late, and close only if this is called
 * several times before a ring wraps around. Reads only the head of every ring. For one thread.
 */
uint64_t horizon__measure(struct horizon *h);

#endif
