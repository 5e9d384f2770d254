/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every option of `perf record`, with what a session makes of it. One table: the parser of `run =`,
 * `frbpf events --options` and the test against `perf record -h` read it.
 */
#ifndef FRBPF_RECORD_PERF_OPTIONS_H
#define FRBPF_RECORD_PERF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum perf_option_verdict {
	OPTION_TAKEN,	/* as perf's, within what a flight recorder is */
	OPTION_NO_OP,	/* accepted, and changes nothing here: `why` tells the reason */
	OPTION_REFUSED, /* an error: `why` tells the reason and what to write instead */
};

enum perf_option_argument { ARGUMENT_NONE, ARGUMENT_REQUIRED, ARGUMENT_OPTIONAL };

struct option_parser;
struct option_value;

struct perf_option {
	const char *name; /* NULL: only a letter */
	char letter;	  /* 0: only a name */
	enum perf_option_argument kind;
	const char *argument; /* as shown: "N", "PID,.."; NULL: none */
	enum perf_option_verdict verdict;
	const char *why; /* taken: what it does */
	/* How its value is taken, or only checked. NULL: by `flag`, or not at all. */
	int (*set)(struct option_parser *p, const struct option_value *v);
	size_t flag;	/* offset of a bool in struct record_opts + 1; 0: none */
	bool no_negate; /* there is no --no-NAME */
};

#define N_PERF_OPTIONS 81
extern const struct perf_option perf_options[N_PERF_OPTIONS];

/* "taken", "no-op", "refused". */
const char *perf_option__verdict(const struct perf_option *o);

#endif
