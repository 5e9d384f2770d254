// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/tune_ladder.h"
#include "cmd/tune_source.h"
#include "rules/units.h"

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
		return "has another subject than a span that has ended: measure the ended span, "
		       "with its own --if";
	return NULL;
}

void tune_source__prepare(struct when *when)
{
	when->pending = false;
	when->learn = (struct when_learn){ 0 };
}

uint64_t tune_source__step(const struct when *when, size_t i)
{
	if (when->share.time)
		return when->share.time / 100 * tune_ladder__percent(i);
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

	if (when->share.time && percent)
		snprintf(buf, size, "%.*s > %" PRIu64 "%s", len, text,
			 ns / (when->share.time / 100), percent);
	else
		snprintf(buf, size, "%.*s > %s", len, text,
			 units__format_duration(ns, threshold, sizeof(threshold)));
	return buf;
}
