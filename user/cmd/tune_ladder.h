/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ladder of thresholds that `frbpf tune` tries, and its choice of one for a number of incidents
 * a day.
 */
#ifndef FRBPF_CMD_TUNE_LADDER_H
#define FRBPF_CMD_TUNE_LADDER_H

#include <stddef.h>
#include <stdint.h>

/* 10us, 20us, 30us, 50us, 70us, 100us ... 70s: round numbers, five per decade */
#define TUNE_STEPS 35

struct tune_step {
	uint64_t threshold; /* ns */
	uint64_t matched;   /* values above the threshold */
	uint64_t fired;	    /* incidents that these would have caused, after the cooldown */
};

enum tune_how {
	TUNE_MEASURED, /* this threshold had no more incidents than wanted */
	TUNE_EXTENDED, /* less than one incident is wanted in the time measured: extrapolated */
	TUNE_UNSEEN,   /* for a share of time: no incident was seen above this threshold */
	TUNE_UNKNOWN,  /* too few values */
};

/* The threshold of step @i (below TUNE_STEPS), ns. */
uint64_t tune_ladder__threshold(size_t i);
/* The same for shares of time, in percent: 1, 2, 3 ... 1000. */
uint64_t tune_ladder__percent(size_t i);

/*
 * Find the lowest threshold with at most @per_day incidents a day. @steps has the TUNE_STEPS
 * counts, lowest threshold first, measured in @ns. *ret_ns is 0 for TUNE_UNKNOWN.
 */
enum tune_how tune_ladder__find(const struct tune_step *steps, uint64_t ns, uint64_t per_day,
				uint64_t *ret_ns);

/*
 * The same for a share of time. It is bounded, so its tail is not extrapolated. If less than one
 * incident is wanted in the time measured, the lowest threshold without an incident is found.
 */
enum tune_how tune_ladder__find_share(const struct tune_step *steps, uint64_t ns, uint64_t per_day,
				      uint64_t *ret_ns);

/* How long to measure, ns, so that a rate of @per_day occurs three times on average. */
uint64_t tune_ladder__enough(uint64_t per_day);

#endif
