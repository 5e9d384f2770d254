/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From when on something may still have to be known, because the rings of some session still show
 * it. Every recording session is in it, from its start until it is closed; also one that is to take
 * another's place. Locks itself.
 */
#ifndef FRBPF_DUMP_RINGS_HORIZON_H
#define FRBPF_DUMP_RINGS_HORIZON_H

#include "record/session.h"

struct horizon;

int horizon__new(struct horizon **ret); /* -ENOMEM */
void horizon__free(struct horizon *h);

/* Add a session that records; borrowed until it is removed. 0 or -ENOMEM. */
int horizon__add(struct horizon *h, struct session *s);
void horizon__remove(struct horizon *h,
		     const struct session *s); /* one that is not there is legal */

/* Call @fn with each of them. Others wait meanwhile. */
void horizon__each_session(struct horizon *h, void (*fn)(struct session *s, void *arg), void *arg);

/*
 * The earliest start (ns) that a window can have which reaches as far back as every CPU is complete,
 * when its rings are frozen now or later; without sessions, now. Conservative, and exact only when
 * asked several times while a ring is filled once: it reads the head of every ring and nothing
 * else. For one thread.
 */
uint64_t horizon__measure(struct horizon *h);

#endif
