/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `frbpf bench`: records a command repeatedly, each time with a separate `frbpf run`. It adds up
 * their summaries, and compares them with a baseline file, or with another command that is run in
 * turns.
 */
#ifndef FRBPF_BENCH_BENCH_H
#define FRBPF_BENCH_BENCH_H

#include "run/run_opts.h"

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

#endif
