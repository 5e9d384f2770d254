/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far back an overwritable ring can reach, from nothing but the number of bytes ever written to
 * it, noted now and then: what was there before a note is gone once a whole ring has been written
 * since. A lower bound, at most about a quarter of the ring and one interval of noting too old.
 * Pure; { 0 } is a ring of which nothing is known.
 */
#ifndef FRBPF_RECORD_RING_LAPS_H
#define FRBPF_RECORD_RING_LAPS_H

#include <stddef.h>
#include <stdint.h>

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

#endif
