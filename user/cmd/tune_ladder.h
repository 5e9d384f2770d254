/* SPDX-License-Identifier: GPL-2.0-only */
/* Thresholds on trial, and which of them gives so many incidents a day. */
#ifndef FRBPF_CMD_TUNE_LADDER_H
#define FRBPF_CMD_TUNE_LADDER_H

#include <stddef.h>
#include <stdint.h>

/* 10us, 20us, 30us, 50us, 70us, 100us ... 70s: numbers that people write, five per decade. */
#define TUNE_STEPS 35

struct tune_step {
	uint64_t threshold; /* ns */
	uint64_t matched;   /* values above it */
	uint64_t fired;	    /* incidents that these would have made, after the cooldown */
};

enum tune_how {
	TUNE_MEASURED, /* so few incidents were seen with this threshold */
	TUNE_EXTENDED, /* the rate is below one in the time measured: the tail drawn on */
	TUNE_UNKNOWN,  /* too few values */
};

/* The threshold of step @i below TUNE_STEPS, in ns. */
uint64_t tune_ladder__threshold(size_t i);

/* The lowest threshold that gives at most @per_day incidents a day, by what @steps (TUNE_STEPS of them, lowest first)
 * counted in @ns. For TUNE_UNKNOWN *ret_ns is 0. */
enum tune_how tune_ladder__find(const struct tune_step *steps, uint64_t ns, uint64_t per_day,
				uint64_t *ret_ns);

/* How long to measure, in ns, until @per_day is seen three times on average. */
uint64_t tune_ladder__enough(uint64_t per_day);

#endif
