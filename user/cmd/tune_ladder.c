// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdbool.h>

#include "cmd/tune_ladder.h"
#include "common/cleanup.h"
#include "rules/units.h"

#define DAY (86400 * NSEC_PER_SEC)

static const uint64_t in_decade[] = { 1, 2, 3, 5, 7 };
#define PER_DECADE ARRAY_SIZE(in_decade)

/*
 * Extrapolation of the tail starts where this many values are above the threshold. The slope is
 * measured where their number grows by TAIL_GROWTH.
 */
#define TAIL_VALUES 5
#define TAIL_GROWTH 4
/* On most systems the number of values falls faster than 1/x and slower than 1/x^4. */
#define SLOPE_MIN 1.0
#define SLOPE_MAX 4.0
/* Extrapolate at most to this multiple of the highest threshold that was exceeded. */
#define EXTEND_MAX 4

uint64_t tune_ladder__threshold(size_t i)
{
	uint64_t decade = 10 * NSEC_PER_USEC;

	for (size_t n = i / PER_DECADE; n; n--)
		decade *= 10;
	return decade * in_decade[i % PER_DECADE];
}

uint64_t tune_ladder__percent(size_t i)
{
	static const uint16_t percents[TUNE_STEPS] = { 1,   2,	 3,   5,   7,	10,  15,  20,  25,
						       30,  35,	 40,  45,  50,	55,  60,  65,  70,
						       75,  80,	 85,  90,  95,	100, 120, 150, 200,
						       250, 300, 400, 500, 600, 700, 800, 1000 };

	return percents[i % TUNE_STEPS];
}

uint64_t tune_ladder__enough(uint64_t per_day)
{
	return 3 * DAY / per_day;
}

/* The lowest step that is not below @ns; the ladder is continued above its end. */
static uint64_t round_up_to_step(double ns)
{
	size_t i = 0;

	while (i < 2 * TUNE_STEPS && (double)tune_ladder__threshold(i) < ns)
		i++;
	return tune_ladder__threshold(i);
}

/* The highest step that at least @n values exceeded; TUNE_STEPS: none. */
static size_t highest_step(const struct tune_step *steps, uint64_t n)
{
	size_t i = TUNE_STEPS;

	while (i && steps[i - 1].matched < n)
		i--;
	return i ? i - 1 : TUNE_STEPS;
}

/*
 * The number of values above t falls as t^-slope; the slope is measured between two steps of the
 * tail.
 */
static enum tune_how extend_tail(const struct tune_step *steps, double wanted, uint64_t *ret_ns)
{
	size_t high = highest_step(steps, TAIL_VALUES), low;
	double slope, threshold;

	if (high == TUNE_STEPS)
		return TUNE_UNKNOWN;
	low = highest_step(steps, TAIL_GROWTH * steps[high].matched);
	if (low == TUNE_STEPS)
		return TUNE_UNKNOWN;
	slope = log((double)steps[low].matched / (double)steps[high].matched) /
		log((double)steps[high].threshold / (double)steps[low].threshold);
	slope = fmin(fmax(slope, SLOPE_MIN), SLOPE_MAX);
	threshold = (double)steps[high].threshold *
		    pow((double)steps[high].matched / wanted, 1 / slope);
	if (threshold > (double)(EXTEND_MAX * steps[highest_step(steps, 1)].threshold))
		return TUNE_UNKNOWN;
	*ret_ns = round_up_to_step(threshold);
	return TUNE_EXTENDED;
}

static double incidents_in(uint64_t ns, uint64_t per_day)
{
	return (double)per_day * (double)ns / (double)DAY;
}

/* Find the lowest step with at most @wanted incidents. */
static bool lowest_step(const struct tune_step *steps, double wanted, uint64_t *ret_ns)
{
	for (size_t i = 0; i < TUNE_STEPS; i++) {
		if ((double)steps[i].fired <= wanted) {
			*ret_ns = steps[i].threshold;
			return true;
		}
	}
	return false;
}

enum tune_how tune_ladder__find(const struct tune_step *steps, uint64_t ns, uint64_t per_day,
				uint64_t *ret_ns)
{
	double wanted = incidents_in(ns, per_day);

	*ret_ns = 0;
	if (wanted < 1)
		return extend_tail(steps, wanted, ret_ns);
	return lowest_step(steps, wanted, ret_ns) ? TUNE_MEASURED : TUNE_UNKNOWN;
}

enum tune_how tune_ladder__find_share(const struct tune_step *steps, uint64_t ns, uint64_t per_day,
				      uint64_t *ret_ns)
{
	double wanted = incidents_in(ns, per_day);

	*ret_ns = 0;
	if (!lowest_step(steps, wanted, ret_ns))
		return TUNE_UNKNOWN;
	return wanted < 1 ? TUNE_UNSEEN : TUNE_MEASURED;
}
