/* SPDX-License-Identifier: GPL-2.0-only */
/* What `frbpf run` was asked to do. */
#ifndef FRBPF_RUN_RUN_OPTS_H
#define FRBPF_RUN_RUN_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum run_scope {
	RUN_TREE, /* the command and all that it forks */
	RUN_ALL,
	RUN_PID,
	RUN_CGROUP,
};

struct run_when {
	const char *when;
	const char *condition; /* of `if`; NULL: none */
};

/* From what value on a rule fires, whatever it says itself. */
struct run_threshold {
	const char *rule; /* owned with the rest of what is parsed */
	uint64_t ns;
};

struct run_opts {	   /* what is not said to be owned is borrowed from the command line */
	const char *rules; /* NULL: none */
	struct run_when *whens;
	size_t n_whens;
	const char **sessions; /* lines of perf record */
	size_t n_sessions;
	enum run_scope scope;
	pid_t pid;	    /* of RUN_PID */
	const char *cgroup; /* of RUN_CGROUP: a directory, or a path as in /proc/PID/cgroup */
	uint64_t for_ns;    /* 0: until the end */
	uint64_t max_dumps; /* 0: any number */
	const char *out;    /* NULL: frbpf-TIME */
	int exit_code;	    /* when a rule fired */
	bool optional;	    /* run the command also where recording is not possible */
	bool as_user;
	const char *user;    /* of as_user; NULL: who called sudo */
	const char *log;     /* NULL: standard error */
	bool last_window;    /* save the last window in any case; else only without a rule */
	bool matches_only;   /* distributions are those of matches: nothing else is measured */
	bool no_last_window; /* not even without a rule */
	struct run_threshold *thresholds;
	size_t n_thresholds;
	bool quiet;	      /* warnings and errors only, and nothing for a CI service */
	char *const *command; /* NULL terminated; NULL: none */
};

#endif
