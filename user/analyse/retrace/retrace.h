/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the sources of rules would have measured, from recordings: the same beginnings and ends as the programs in bpf/
 * look at, found among the samples of tracepoints. All recordings are read together, in the order of time; what
 * several of them have counts once. Where records were lost, or no recording has the events, what was under way is given up.
 *
 * Life: new, add files, look at fields, want, run, look at what was told, free. Nothing in a file is believed. Not
 * locked.
 */
#ifndef FRBPF_ANALYSE_RETRACE_H
#define FRBPF_ANALYSE_RETRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "frbpf.h"

/* An event of a source. Values as in struct frbpf_event; a bit of `unknown` for each that no recording tells. */
struct retraced {
	uint64_t begin, time; /* ns; of a hit the same */
	uint32_t key, error;
	bool pending;			     /* it has not ended */
	uint64_t val[2][FRBPF_FIELD_MAX][2]; /* [0 subject and event, 1 current] */
	uint32_t unknown[2];
};

struct retrace_want {
	enum frbpf_source source;
	uint64_t least; /* ns: what is not longer is only counted */
	uint64_t
		pending; /* ns: told when it has lasted for longer, while it lasts; 0: told when it has ended */
	bool fails; /* calls that fail are told, however short they were */
	/* Of a hit, and of a span: tracepoints, "sched:sched_switch", and fields of their formats. NULL: none. */
	const char *start, *end;
	const char *start_keys[FRBPF_SPAN_KEYS], *end_keys[FRBPF_SPAN_KEYS]; /* or tid, pid, cpu */
	uint32_t n_keys;
	bool nested;
	const char *args[FRBPF_MAX_ARGS]; /* by slot */
	bool arg_at_start[FRBPF_MAX_ARGS];

	/* 0, or a negative errno, which ends the run. */
	int (*take)(const struct retraced *m, void *arg);
	int (*pass)(uint64_t time, void *arg); /* optional; before what is at @time */
	void (*cut)(void *arg); /* optional; from here on nothing is known until the next pass */
	void *arg;
};

/* What came of it. */
struct retrace_told {
	uint64_t ns;	       /* for which recordings had its events */
	uint64_t n;	       /* that ended, or were hit */
	uint64_t largest;      /* ns, of those */
	uint64_t open;	       /* had begun, and had not ended when the recordings did */
	uint64_t open_largest; /* ns; so long at least */
	uint64_t given_up;     /* were under way when records were lost */
	bool stand_in;	       /* sched_waking stood for sched_wakeup, which was not recorded */
};

struct retrace;

int retrace__new(struct retrace **ret); /* -ENOMEM */
void retrace__free(struct retrace *m);	/* NULL is legal */

/* Errors are those of perf_file__open(). */
int retrace__add_file(struct retrace *m, const char *path, struct err *err);

struct retrace_field {
	char name[64]; /* in the format */
	bool is_text;
};
/* The field of a tracepoint that @name means: itself, or for a path such as next.pid what the format calls it.
 * -ENOENT: no recording has the tracepoint. -EINVAL: it has no such field. */
int retrace__find_field(const struct retrace *m, const char *event, const char *name,
			struct retrace_field *ret);
/* Has any recording this tracepoint, every hit of it? */
bool retrace__has_event(const struct retrace *m, const char *event);

/* Have it told while run. Its texts are borrowed. *ret is for retrace__told(). 0 or -ENOMEM. */
int retrace__want(struct retrace *m, const struct retrace_want *want, size_t *ret);
int retrace__run(struct retrace *m, struct err *err);
const struct retrace_told *retrace__told(const struct retrace *m, size_t want);

/* The tracepoints that are lacking for it in all recordings, in words; "": none. NULL: no recording tells of such a
 * source. */
const char *retrace__lacks(const struct retrace *m, size_t want);

/* First and last sample, ns; files; how often records were lost. */
struct retrace_sum {
	uint64_t first, last, losses;
	size_t n_files;
	bool foreign_machine; /* some are of another kind of machine: its numbers of system calls are others */
};
void retrace__sum(const struct retrace *m, struct retrace_sum *ret);

#endif
