/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the summary.json of one run, which is not trusted. Life: { 0 }, read, free. */
#ifndef FRBPF_BENCH_RUN_SUMMARY_H
#define FRBPF_BENCH_RUN_SUMMARY_H

#include <jansson.h>

#include "bench/series.h"

struct run_summary {
	json_t *root; /* owned; has all strings */
	bool recorded;
	const char *reason; /* why not; "" */
	bool command_ended; /* the command ended by itself, not by --for and the like */
	int status;	    /* exit status of the command, as a shell shows it */
	int signal;	    /* signal that ended it; 0: none */
	const json_t *rules, *incidents; /* arrays */
};

/* Read the file in the folder @dir. Negative errno, message in @err. */
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
