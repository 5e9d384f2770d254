/* SPDX-License-Identifier: GPL-2.0-only */
/* The summary.json of one run, read. Nothing of it is trusted. Life: { 0 }, read, free. */
#ifndef FRBPF_BENCH_RUN_SUMMARY_H
#define FRBPF_BENCH_RUN_SUMMARY_H

#include <jansson.h>

#include "bench/series.h"

struct run_summary {
	json_t *root; /* owned; all texts are its */
	bool recorded;
	const char *reason; /* why not; "" */
	bool command_ended; /* the command did, and by itself: not by --for and the like */
	int status;	    /* of the command, as a shell shows it */
	int signal;	    /* that ended it; 0: none */
	const json_t *rules, *incidents; /* arrays */
};

/* Read the file of the folder @dir. -EINVAL and others, with words. */
int run_summary__read(int dir, struct err *err, struct run_summary *ret);
/* What it measured, as one more run of @to; its .probe is left 0. -EINVAL with words: it is of other rules, or nothing was
 * measured; -ENOMEM. */
int run_summary__sample(const struct run_summary *s, struct series *to, struct err *err);
/* The values of one of .rules; false: those of its matches, as nothing else was measured. */
bool run_summary__histogram(const json_t *rule, struct histogram *ret);
void run_summary__free(struct run_summary *s);

#endif
