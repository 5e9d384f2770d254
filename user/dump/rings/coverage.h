/* SPDX-License-Identifier: GPL-2.0-only */
/* How far back the rings of a session reach at this moment: seconds, not bytes. */
#ifndef FRBPF_DUMP_RINGS_COVERAGE_H
#define FRBPF_DUMP_RINGS_COVERAGE_H

#include "record/session.h"

struct coverage {
	int cpu;
	uint64_t since; /* ns: the ring has everything from here on */
	uint64_t bytes; /* in use */
};

/* Look into every ring of @s, without pausing it; ret has one entry per CPU. It reads all of the
 * rings' memory: for people who ask, not for every second. 0 or -ENOMEM. */
int coverage__measure(const struct session *s, struct coverage *ret);

#endif
