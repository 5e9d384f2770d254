/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All options of `perf record`, and what a session does with them. One table for the parser of `run
 * =`, `frbpf events --options` and the test against `perf record -h`.
 */
#ifndef FRBPF_RECORD_PERF_OPTIONS_H
#define FRBPF_RECORD_PERF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum perf_option_verdict {
	OPTION_TAKEN,	/* works as in perf, unless a flight recorder cannot do that */
	OPTION_NO_OP,	/* accepted without effect: `why` has the reason */
	OPTION_REFUSED, /* an error: `why` has the reason and what to write instead */
};

enum perf_option_argument { ARGUMENT_NONE, ARGUMENT_REQUIRED, ARGUMENT_OPTIONAL };

struct option_parser;
struct option_value;

struct perf_option {
	const char *name; /* NULL: a letter only */
	char letter;	  /* 0: a name only */
	enum perf_option_argument kind;
	const char *argument; /* as shown in the help: "N", "PID,.."; NULL: none */
	enum perf_option_verdict verdict;
	const char *why; /* if taken: what it does */
	/* Parses, or only checks, the value. NULL: sets `flag`, if there is one. */
	int (*set)(struct option_parser *p, const struct option_value *v);
	size_t flag;	/* offset of a bool in struct record_opts + 1; 0: none */
	bool no_negate; /* there is no --no-NAME */
};

#define N_PERF_OPTIONS 87
extern const struct perf_option perf_options[N_PERF_OPTIONS];

/* Get the word for the verdict: "taken", "no-op", "refused". */
const char *perf_option__verdict(const struct perf_option *o);

#endif
