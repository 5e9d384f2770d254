/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One run: check and arm everything, execute the command, record until it and all forked processes
 * have ended, write, report. All of that happens in this process, between the command and the
 * caller of frbpf. Signals to frbpf are passed to the command.
 */
#ifndef FRBPF_RUN_RUN_H
#define FRBPF_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum run_scope {
	RUN_TREE, /* the command and all forked processes */
	RUN_ALL,
	RUN_PID,
	RUN_CGROUP,
};

struct run_when {
	const char *when;
	const char *condition; /* after `if`; NULL: none */
};

/* Replaces the threshold of a rule */
struct run_threshold {
	const char *rule; /* owned by the parsed options */
	uint64_t ns;
};

struct run_opts {	   /* borrowed from the command line unless noted */
	const char *rules; /* NULL: none */
	struct run_when *whens;
	size_t n_whens;
	const char **sessions; /* command lines of perf record */
	size_t n_sessions;
	enum run_scope scope;
	pid_t pid;	    /* for RUN_PID */
	const char *cgroup; /* for RUN_CGROUP: a directory, or a path as in /proc/PID/cgroup */
	uint64_t for_ns;    /* 0: until the end */
	uint64_t max_dumps; /* 0: any number */
	const char *out;    /* NULL: frbpf-TIME */
	int exit_code;	    /* if a rule fired */
	bool optional;	    /* run the command even if recording is not possible */
	bool as_user;
	const char *user;    /* for as_user; NULL: the caller of sudo */
	const char *log;     /* NULL: standard error */
	bool last_window;    /* always save the last window; otherwise only without a rule */
	bool matches_only;   /* distributions contain only matches: nothing else is measured */
	bool no_last_window; /* do not save the last window, even without a rule */
	struct run_threshold *thresholds;
	size_t n_thresholds;
	bool quiet;	      /* only warnings and errors, and no output for CI services */
	char *const *command; /* NULL-terminated; NULL: none */
};

/*
 * Returns the exit status, see outcome__exit_status(). RUN_EXIT_NOT_RECORDED, with an error logged:
 * nothing was run.
 */
int run__run(const struct run_opts *opts);

#endif
