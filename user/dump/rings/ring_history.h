/* SPDX-License-Identifier: GPL-2.0-only */
/* What is known of the past of a CPU's ring: its pauses, and how far back its records reach. */
#ifndef FRBPF_DUMP_RINGS_RING_HISTORY_H
#define FRBPF_DUMP_RINGS_RING_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;

#define GAP_LOG_SIZE 16

/* The last pauses of a ring, which explain LOST records in it. */
struct gap_log {
	struct {
		uint64_t paused, resumed; /* ns */
	} v[GAP_LOG_SIZE];
	size_t n; /* number ever added */
};

void gap_log__add(struct gap_log *g, uint64_t paused, uint64_t resumed);
/*
 * Get the last pause that began at or before @time; false: none. A ring takes records again before
 * `resumed` is read, so a pause's LOST record may be older than `resumed`.
 */
bool gap_log__find(const struct gap_log *g, uint64_t time, uint64_t *ret_paused,
		   uint64_t *ret_resumed);

#define RING_LAPS_NOTES 5 /* N notes divide a ring into N - 1 parts */

/*
 * Estimates how far back an overwritable ring reaches, only from notes of the bytes ever written to
 * it. Records from before a note are gone once a whole ring was written after it. The result is a
 * lower bound: it is too old by at most about a quarter of the ring and one interval between notes.
 * Pure; { 0 } is a ring of which nothing is known.
 */
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

/* How far back a ring of a session reaches now. */
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
