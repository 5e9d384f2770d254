/* SPDX-License-Identifier: GPL-2.0-only */
/* Reports of a bench: summary.json, summary.md, junit.xml, and output for CI services. */
#ifndef FRBPF_BENCH_BENCH_REPORT_H
#define FRBPF_BENCH_BENCH_REPORT_H

#include <jansson.h>

#include "bench/against.h"
#include "bench/run_process.h"
#include "common/err.h"

#define BENCH_SCHEMA 1 /* of summary.json */

struct bench_rule {
	char *name, *when, *condition; /* owned; condition may be NULL */
	uint64_t threshold;	       /* ns; 0: none */
	uint64_t matched, fired;
	bool failed; /* it fired, and fails the run */
	bool has_values;
	struct histogram values; /* of all runs; without has_values: of matches only */
};

struct bench_result {	       /* { 0 } is legal to free */
	char *const *command;  /* borrowed */
	const char *directory; /* borrowed */
	bool recorded;
	char reason[ERR_MSG_MAX]; /* why nothing was recorded */
	int exit_status;
	size_t n_runs;		  /* of the command, without the run after a regression */
	struct bench_rule *rules; /* owned */
	size_t n_rules;
	json_t *incidents; /* from the runs' summaries, with "run" and "capture" added; owned */
	const struct series *now;	     /* NULL: nothing is measured */
	const struct series *against;	     /* of the other command, run in turns; NULL: none */
	const struct comparison *comparison; /* NULL: none */
};

/*
 * Add run number @run. @capture: the run after a regression, of which only the incidents are taken.
 * 0 or -ENOMEM.
 */
int bench_result__add(struct bench_result *r, const struct run_summary *s, size_t run,
		      bool capture);
bool bench_result__fired(const struct bench_result *r);
void bench_result__free(struct bench_result *r);

/* Each appends a whole text to @b. 0 or -ENOMEM. */
int bench_report__json(const struct bench_result *r, struct buf *b);
int bench_report__junit(const struct bench_result *r, struct buf *b);
int bench_report__markdown(const struct bench_result *r, struct buf *b);
int bench_report__github(const struct bench_result *r, struct buf *b);

/* The same for the comparison alone; empty, or null, without one. */
int bench_compare__markdown(const struct bench_result *r, struct buf *b);
int bench_compare__junit(const struct bench_result *r, struct buf *b);
int bench_compare__github(const struct bench_result *r, struct buf *b);
json_t *bench_compare__json(const struct bench_result *r); /* NULL: out of memory */
/* The measurements of the runs of @s; NULL: an empty list. */
json_t *bench_series__json(const struct series *s);
/* Number of test cases of the comparison with this verdict. */
size_t bench_compare__cases(const struct bench_result *r, enum verdict verdict);

/* Append the shell command that opens an incident. 0 or -ENOMEM. */
int bench_report__open_command(const json_t *incident, struct buf *b);
/* Append that command as a line of XML text. 0 or -ENOMEM. */
int bench_report__add_xml_command(const json_t *incident, struct buf *b);
/* The rule that fired the incident; "": none, it is the last window. */
const char *bench_report__incident_rule(const json_t *incident);

/* Write all reports into the directory @fd. Negative errno, message in @err. */
int bench_report__write(const struct bench_result *r, int fd, struct err *err);

#endif
