/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time from which names may still be needed: that of the oldest record in the ring of any
 * session. It knows all recording sessions, from start to close. Locks itself.
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

/*
 * Estimates how far back an overwritable ring reaches, only from notes of the bytes ever written to
 * it. What was there before a note is gone once a whole ring was written since. The result is a
 * lower bound, too old by at most about a quarter of the ring and one interval between notes. Pure;
 * { 0 } is a ring of which nothing is known.
 */
#define RING_LAPS_NOTES 5 /* N notes divide a ring into N - 1 parts */

struct ring_laps {
	uint64_t from; /* ns: nothing older is in the ring; 0: unknown */
	struct {
		uint64_t time, written;
	} notes[RING_LAPS_NOTES]; /* the oldest first */
	size_t n;
};

/*
 * Note that @written bytes were ever written to the ring of @size bytes at @now, ns. Returns the
 * time, ns, of the oldest records that the ring can have; 0: it may have all that were ever
 * written.
 */
uint64_t ring_laps__note(struct ring_laps *l, uint64_t now, uint64_t written, size_t size);

/* How far back a session's rings reach now, as time. */
struct coverage {
	int cpu;
	uint64_t since; /* ns: the ring has everything from here on */
	uint64_t bytes; /* in use */
};

/*
 * Measure every ring of @s, without pausing it; @ret has one entry per CPU. Reads all memory of the
 * rings, so call it only when a user asks. 0 or -ENOMEM.
 */
int coverage__measure(const struct session *s, struct coverage *ret);

#endif
