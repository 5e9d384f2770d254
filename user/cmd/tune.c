// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/tune.h"
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

#define TRY_LIVE "; `frbpf check --live` tells how often a rule on it would fire"

const char *tune_source__refusal(const struct when *when, bool has_if)
{
	if (when->source == FRBPF_SOURCE_RULES)
		return "combines other rules: measure the source of each";
	if (when->silence)
		return "fires when nothing comes, which has no duration to measure" TRY_LIVE;
	if (when->source == FRBPF_SOURCE_PSI)
		return "is a sum that the kernel makes, not a duration of single events" TRY_LIVE;
	if (when->fails)
		return "fires on errors, which have no duration" TRY_LIVE;
	if (when->hit && (when->source == FRBPF_SOURCE_UPROBE || when->source == FRBPF_SOURCE_APP))
		return "is an event; with a threshold, such as > 1ms, it is a duration";
	if (when->hit)
		return "is an event, not a duration" TRY_LIVE;
	if (when->pending && has_if &&
	    (when->source == FRBPF_SOURCE_SPAN || when->source == FRBPF_SOURCE_PROBE_SPAN))
		return "has another subject than a span that has ended: measure that, with an --if "
		       "of its own";
	return NULL;
}

void tune_source__prepare(struct when *when)
{
	when->pending = false;
	when->learn = (struct when_learn){ 0 };
}

uint64_t tune_source__step(const struct when *when, size_t i)
{
	if (when->share.window)
		return when->share.window / 100 * tune_ladder__percent(i);
	return tune_ladder__threshold(i);
}

size_t tune_source__length(const char *text)
{
	const char *above = strstr(text, " >");

	/* not the ">>" between two events of a span */
	while (above && above[2] == '>')
		above = strstr(above + 3, " >");
	return above ? (size_t)(above - text) : strlen(text);
}

const char *tune_source__line(const struct when *when, const char *text, uint64_t ns, char *buf,
			      size_t size)
{
	int len = (int)tune_source__length(text);
	const char *percent = strchr(text + len, '%');
	char threshold[32];

	if (when->share.window && percent)
		snprintf(buf, size, "%.*s > %" PRIu64 "%s", len, text,
			 ns / (when->share.window / 100), percent);
	else
		snprintf(buf, size, "%.*s > %s", len, text,
			 units__format_duration(ns, threshold, sizeof(threshold)));
	return buf;
}
