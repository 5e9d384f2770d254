/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recomputes from recordings what the sources of rules would have measured. It looks for the same
 * begin and end events as the programs in bpf/, among the samples of tracepoints. All recordings
 * are read together, in the order of time; duplicates count once. Where records were lost, or no
 * recording has the events, measurements under way are dropped.
 *
 * Life: new, add files, look at fields, want, run, look at the results, free. Files are not
 * trusted. Not locked.
 */
#ifndef FRBPF_ANALYSE_RETRACE_H
#define FRBPF_ANALYSE_RETRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "abi.h"

/*
 * An event of a source. Values as in struct frbpf_event; `unknown` has a bit for each value that no
 * recording contains.
 */
struct retraced {
	uint64_t begin, time; /* ns; equal for a hit */
	uint32_t key, error;
	bool pending;			     /* it has not ended yet */
	uint64_t val[2][FRBPF_FIELD_MAX][2]; /* [0 subject and event, 1 current] */
	uint32_t unknown[2];
};

struct retrace_want {
	enum frbpf_source source;
	uint64_t least; /* ns: shorter events are only counted */
	/* ns: an event is reported as soon as it has lasted longer; 0: once it has ended */
	uint64_t pending;
	bool fails; /* report failed calls, however short */
	/*
	 * For hits and spans: tracepoints, "sched:sched_switch", and fields of their formats; NULL:
	 * none
	 */
	const char *start, *end;
	const char *start_keys[FRBPF_SPAN_KEYS], *end_keys[FRBPF_SPAN_KEYS]; /* or tid, pid, cpu */
	uint32_t n_keys;
	bool nested;
	const char *args[FRBPF_MAX_ARGS]; /* by slot */
	bool arg_at_start[FRBPF_MAX_ARGS];

	/* Takes an event. 0, or a negative errno, which ends the run. */
	int (*take)(const struct retraced *m, void *arg);
	int (*pass)(uint64_t time, void *arg); /* optional; called before the events at @time */
	void (*cut)(void *arg); /* optional; events are missing from here until the next pass */
	void *arg;
};

/* Result of a want */
struct retrace_result {
	uint64_t ns;	       /* time for which recordings had the events of the want */
	uint64_t n;	       /* events that have ended, or hits */
	uint64_t largest;      /* ns, of the events in n */
	uint64_t open;	       /* events that had not ended when the recordings did */
	uint64_t open_largest; /* ns; one of these lasted at least this long */
	uint64_t given_up;     /* events under way when records were lost */
	bool stand_in;	       /* sched_waking was used because sched_wakeup was not recorded */
};

struct retrace;

int retrace__new(struct retrace **ret); /* -ENOMEM */
void retrace__free(struct retrace *m);	/* NULL is legal */

/* Add a recording. Errors are those of perf_file__open(). */
int retrace__add_file(struct retrace *m, const char *path, struct err *err);

struct retrace_field {
	char name[64]; /* its name in the format */
	bool is_text;
};
/*
 * Find the field of a tracepoint that has the value of @name. That is the field of the same name;
 * for a path such as next.pid, it is next_pid or pid. -ENOENT: no recording has the tracepoint.
 * -EINVAL: it has no such field.
 */
int retrace__find_field(const struct retrace *m, const char *event, const char *name,
			struct retrace_field *ret);
/* Does any recording have this tracepoint, with every hit of it? */
bool retrace__has_event(const struct retrace *m, const char *event);

/*
 * Ask for @want before the run. Its strings are borrowed. *ret: for retrace__result().
 * 0 or -ENOMEM.
 */
int retrace__want(struct retrace *m, const struct retrace_want *want, size_t *ret);
int retrace__run(struct retrace *m, struct err *err);
const struct retrace_result *retrace__result(const struct retrace *m, size_t want);

/*
 * The tracepoints that @want needs and no recording has, as text; "": none are missing. NULL:
 * recordings never contain the events of such a source.
 */
const char *retrace__lacks(const struct retrace *m, size_t want);

/* Summary: first and last sample, ns; files; number of reported losses */
struct retrace_sum {
	uint64_t first, last, losses;
	size_t n_files;
	/* some are of another architecture, whose system call numbers differ */
	bool foreign_machine;
};
void retrace__sum(const struct retrace *m, struct retrace_sum *ret);

#endif
