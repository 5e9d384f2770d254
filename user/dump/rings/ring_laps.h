/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Estimates how far back an overwritable ring reaches, only from notes of the bytes ever written to
 * it. Records from before a note are gone once a whole ring was written after it. The result is a
 * lower bound: it is too old by at most about a quarter of the ring and one interval between notes.
 * Pure; { 0 } is a ring of which nothing is known.
 */
#ifndef FRBPF_DUMP_RINGS_RING_LAPS_H
#define FRBPF_DUMP_RINGS_RING_LAPS_H

#include <stddef.h>
#include <stdint.h>

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

#endif
