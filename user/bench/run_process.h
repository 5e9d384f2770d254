/* SPDX-License-Identifier: GPL-2.0-only */
/* One `frbpf run` as a child process, and the summary.json that it leaves. */
#ifndef FRBPF_BENCH_RUN_PROCESS_H
#define FRBPF_BENCH_RUN_PROCESS_H

#include <jansson.h>
#include <signal.h>

#include "bench/series.h"
#include "common/err.h"
#include "run/run.h"

/*
 * Block the signals that end a run: they are for the run and its command. *ret_old: the previous
 * mask, for the runs. 0 or negative errno.
 */
int run_process__block_signals(sigset_t *ret_old);

/*
 * Run @opts with output into @directory (absolute, must not exist), and wait until it ends. Signals
 * that arrive meanwhile are forwarded. Only the options that bench forwards are used. *ret_status:
 * its exit status, or 128+signal. 0, or negative errno with a message: it could not be started.
 */
int run_process__run(const struct run_opts *opts, const char *directory, const sigset_t *mask,
		     struct err *err, int *ret_status);

/* ---- its summary.json, which is not trusted. Life: { 0 }, read, free ---- */

struct run_summary {
	json_t *root; /* owned; has all strings */
	bool recorded;
	const char *reason; /* why nothing was recorded; "" if it was */
	bool command_ended; /* the command ended by itself, not by --for and the like */
	int status;	    /* exit status of the command, as a shell shows it */
	int signal;	    /* signal that ended it; 0: none */
	const json_t *rules, *incidents; /* arrays */
};

/* Read the file in the directory @dir. Negative errno, message in @err. */
int run_summary__read(int dir, struct err *err, struct run_summary *ret);
/*
 * Add the measurements as one more run of @to; its .probe is 0. -EINVAL, message in @err: other
 * rules, or nothing was measured; or -ENOMEM.
 */
int run_summary__sample(const struct run_summary *s, struct series *to, struct err *err);
/* Get the histogram of one of .rules; false: it has only matches, as nothing else was measured. */
bool run_summary__histogram(const json_t *rule, struct histogram *ret);
void run_summary__free(struct run_summary *s);

#endif
