/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the machine was suspended: CLOCK_MONOTONIC stands still then, and the time of day goes on. So the
 * time of day of an earlier moment is not that moment plus what lies between both clocks now.
 *
 * Whoever is awake now and then looks. A suspend is noted with the moment when it was seen, at most as
 * much later as looks are apart. One list for the process; every function is for any thread.
 */
#ifndef FRBPF_COMMON_SUSPENDS_H
#define FRBPF_COMMON_SUSPENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUSPENDS_MAX 64 /* of more, the two oldest count as one */

struct suspend {
	uint64_t seen;	 /* CLOCK_MONOTONIC, ns */
	uint64_t length; /* ns */
};

/* Was it suspended since the last look? The first look notes what there is and returns false. */
bool suspends__look(void);
/* The same with clocks of the caller: CLOCK_MONOTONIC, and how far CLOCK_BOOTTIME is ahead of it, ns. */
bool suspends__note(uint64_t monotonic, uint64_t ahead);

/* How long it was suspended between these moments of CLOCK_MONOTONIC, ns. */
uint64_t suspends__between(uint64_t from, uint64_t to);
/* Those suspends, oldest first. Returns how many. */
size_t suspends__list(uint64_t from, uint64_t to, struct suspend ret[static SUSPENDS_MAX]);

#endif
