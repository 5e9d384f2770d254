/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From when on something may still have to be known, because the rings of some session still show
 * it. Every recording session is in it, from its start until it is closed; also one that is to take
 * another's place. Locks itself.
 */
#ifndef FRBPF_DUMP_RINGS_HORIZON_H
#define FRBPF_DUMP_RINGS_HORIZON_H

#include <stddef.h>
#include <stdint.h>

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

/*
 * How far back an overwritable ring can reach, from nothing but the number of bytes ever written to
 * it, noted now and then: what was there before a note is gone once a whole ring has been written
 * since. A lower bound, at most about a quarter of the ring and one interval of noting too old.
 * Pure; { 0 } is a ring of which nothing is known.
 */
#define RING_LAPS_NOTES 5 /* one more than parts of a ring between them */

struct ring_laps {
	uint64_t from; /* ns: nothing older is in the ring; 0: not known */
	struct {
		uint64_t time, written;
	} notes[RING_LAPS_NOTES]; /* the oldest first */
	size_t n;
};

/* At @now (ns) @written bytes have ever been written to the ring of @size bytes. Returns from when
 * on the ring has records at all (ns); 0: it may have all there ever were. */
uint64_t ring_laps__note(struct ring_laps *l, uint64_t now, uint64_t written, size_t size);

/* How far back the rings of a session reach at this moment: seconds, not bytes. */
struct coverage {
	int cpu;
	uint64_t since; /* ns: the ring has everything from here on */
	uint64_t bytes; /* in use */
};

/* Look into every ring of @s, without pausing it; ret has one entry per CPU. It reads all of the
 * rings' memory: for people who ask, not for every second. 0 or -ENOMEM. */
int coverage__measure(const struct session *s, struct coverage *ret);

#endif
