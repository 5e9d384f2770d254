/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `frbpf bench`: a command that is recorded again and again, each time by an `frbpf run` of its own. Their summaries are
 * added up, and compared with a baseline file or with another command that is run in turns with it.
 */
#ifndef FRBPF_BENCH_BENCH_H
#define FRBPF_BENCH_BENCH_H

#include "run/run_opts.h"

struct bench_opts {	     /* what is not said to be owned is borrowed from the command line */
	struct run_opts run; /* of every run; .command is the command */
	uint64_t repeat;     /* runs; 0: not given */
	const char *baseline, *save_baseline; /* files; NULL: none */
	char **against;	     /* another command, run in turns with this one; owned. NULL: none */
	bool force;	     /* replace that of save_baseline */
	double tolerance;    /* 0.05: what is 5 % larger is no regression */
	double others_limit; /* share of the machine that others may use */
	bool strict;	     /* disturbed is an exit status, too */
};

/* Returns the exit status: that of the command if it is not 0; else run.exit_code when a rule fired, or when it is slower;
 * RUN_EXIT_* where nothing was recorded. */
int bench__run(const struct bench_opts *opts);

#endif
