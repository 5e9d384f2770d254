/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `frbpf bench`: records a command repeatedly, each time with a separate `frbpf run`. It adds up
 * their summaries, and compares them with a baseline file, or with another command that is run in
 * turns.
 */
#ifndef FRBPF_BENCH_BENCH_H
#define FRBPF_BENCH_BENCH_H

#include "bench/against.h"
#include "run/run.h"

struct bench_opts {			      /* borrowed from the command line unless noted */
	struct run_opts run;		      /* for every run; .command is the command */
	uint64_t repeat;		      /* runs; 0: not given */
	const char *baseline, *save_baseline; /* files; NULL: not given */
	char **against;	     /* another command, run in turns with this one; owned. NULL: none */
	bool force;	     /* replace an existing save_baseline */
	double tolerance;    /* 0.05: up to 5 % larger is no regression */
	double others_limit; /* share of the machine that others may use */
	bool strict;	     /* `disturbed` also sets the exit status */
};

/*
 * Returns the exit status: that of the command, if it is not 0; otherwise run.exit_code if a rule
 * fired or the command is slower. RUN_EXIT_*: nothing was recorded.
 */
int bench__run(const struct bench_opts *opts);

/* ---- how many runs are made, of which command, and in which order ---- */

#define REPEAT_DEFAULT 30 /* runs, or pairs */
#define REPEAT_EXTRA   3  /* maximum factor of additional runs, if others disturb */
#define PAIRS_EXTRA    4  /* maximum factor of pairs, if they differ a lot */

/*
 * Number of wanted runs. For a baseline, or a comparison with one, only undisturbed runs count;
 * otherwise all runs, or pairs. @before: the baseline.
 */
size_t schedule__wanted(const struct bench_opts *opts, const struct series *before);
/* Is the next run one of the other command? The first is not. */
bool schedule__is_other(const struct bench_opts *opts, const struct series *before,
			const struct series *now);
/* Are more runs needed? */
bool schedule__continues(const struct bench_opts *opts, const struct series *before,
			 const struct series *now, size_t wanted);
/* Do these pairs say enough, or is the maximum for @wanted pairs reached? */
bool schedule__enough_pairs(const struct series *other, const struct series *this, size_t wanted,
			    const struct compare_opts *opts);

struct compare_opts schedule__compare_opts(const struct bench_opts *opts);

#endif
