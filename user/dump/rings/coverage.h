/* SPDX-License-Identifier: GPL-2.0-only */
/* How far back the rings of a session reach now, measured when a user asks. */
#ifndef FRBPF_DUMP_RINGS_COVERAGE_H
#define FRBPF_DUMP_RINGS_COVERAGE_H

#include <stdint.h>

#include "record/session.h"

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
