/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A command that is run again and again: how often, what each run measured, and what comes of it: a file,
 * or a comparison with one, or with another command that is run in turns with it. Life: { 0 }, open before
 * anything is run, begin and end around every run, finish, free.
 */
#ifndef FRBPF_RUN_REPEAT_H
#define FRBPF_RUN_REPEAT_H

#include "run/baseline/compare.h"
#include "run/child.h"
#include "run/outcome.h"

#define REPEAT_DEFAULT 30 /* for --save-baseline */
#define REPEAT_EXTRA   3  /* times as many runs at most, where others disturb */
#define PAIRS_EXTRA    4  /* times as many pairs at most, where they differ much from one another */

struct repeat {
	const struct run_opts *opts;
	struct machine *machine;
	struct series before, now; /* before: the baseline, or the other command */
	size_t wanted; /* runs that were left alone, for a baseline or a comparison with one; else runs or pairs */
	struct machine_sample began;
	struct machine_probe probe;
	uint64_t own, children, start; /* when it began */
	uint64_t switches, preempted;
	struct series *running; /* the one of them that the run which has begun is of */
	bool compared;
	struct comparison comparison;
};

/* Is it one run, of which nothing is to be measured? */
bool repeat__is_single(const struct run_opts *opts);

/* Look at the files that @opts name, before anything is run. -EINVAL or another, with words. Free it also
 * then. */
int repeat__open(const struct run_opts *opts, const struct run_rules *rules, struct err *err,
		 struct repeat *ret);

/* Is the next run, or the one that has begun, of the other command? The first is not. */
bool repeat__is_other(const struct repeat *r);

/* Right before the command is executed, and when the last of its processes has been reaped. */
void repeat__begin(struct repeat *r);
int repeat__end(struct repeat *r, const struct child *child);
/* The recording of that run has ended, too: the values of its rules. After repeat__end() was 0. */
void repeat__take_rules(struct repeat *r, const struct outcome *o);

/* Are there more runs to come? */
bool repeat__goes_on(const struct repeat *r);

/* Compare, and write the file. What cannot be done is said. False: it was asked for, and was not done. */
bool repeat__finish(struct repeat *r);

/* The thresholds for the run that shows what became slower. */
void repeat__set_thresholds(const struct repeat *r, struct run_rules *rules);
/* Are these still the rules that it was opened with? A file may have changed. */
int repeat__check_rules(const struct repeat *r, const struct run_rules *rules, struct err *err);

void repeat__free(struct repeat *r);

/* Are these pairs enough: do they say enough, or are they as many as are made at most, where @wanted were asked for? */
bool repeat__enough_pairs(const struct series *other, const struct series *this, size_t wanted,
			  const struct compare_opts *opts);

#endif
