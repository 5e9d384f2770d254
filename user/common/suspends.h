/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Times when the machine was suspended. CLOCK_MONOTONIC stops during a suspend, while the time of
 * day goes on. So the difference of both clocks now does not give the time of day of an earlier
 * moment.
 *
 * Threads that wake up anyway call suspends__look(). A suspend is noted with the moment of the
 * first call after it. There is one list for the process. All functions may be called from any
 * thread.
 */
#ifndef FRBPF_COMMON_SUSPENDS_H
#define FRBPF_COMMON_SUSPENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUSPENDS_MAX 64 /* if there are more, the two oldest are merged */

struct suspend {
	uint64_t seen;	 /* CLOCK_MONOTONIC, ns */
	uint64_t length; /* ns */
};

/*
 * Was the machine suspended since the last call? The first call notes the clocks and returns
 * false.
 */
bool suspends__look(void);
/*
 * The same with clocks that the caller has read: CLOCK_MONOTONIC, and by how much CLOCK_BOOTTIME is
 * ahead of it, ns.
 */
bool suspends__note(uint64_t monotonic, uint64_t ahead);

/* Time suspended between two moments of CLOCK_MONOTONIC, ns. */
uint64_t suspends__between(uint64_t from, uint64_t to);
/* Get the suspends between two such moments, the oldest first. Returns their number. */
size_t suspends__list(uint64_t from, uint64_t to, struct suspend ret[static SUSPENDS_MAX]);

#endif
