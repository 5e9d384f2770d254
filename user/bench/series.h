/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A series of runs of one command: what was run, on what machine, by which rules and sessions, and what
 * every run measured. What a baseline file holds, and what is compared with it. Life: { 0 },
 * series__describe() or baseline__read(), a series__add() per run, series__free().
 */
#ifndef FRBPF_BENCH_SERIES_H
#define FRBPF_BENCH_SERIES_H

#include "common/err.h"
#include "run/histogram.h"
#include "bench/machine_probe.h"
#include "run/machine.h"
#include "run/run_rules.h"

#define SERIES_RUNS_MAX	   1000
#define SERIES_LEAST	   5 /* runs that say something: 5 against 5 reach 0.5 % just so */
#define SERIES_PAIRS_LEAST 8 /* and pairs */

struct series_rule { /* all of it owned */
	char *name, *when;
	char *condition; /* NULL: none */
};

struct series_session { /* owned */
	char *name, *run;
};

struct run_sample {		      /* ns where nothing is said */
	uint64_t wall;		      /* from exec to the end of the command */
	uint64_t cpu;		      /* user and system, of all that it forked */
	uint64_t switches, preempted; /* times: it waited; it was switched away */
	struct machine_use machine;
	struct machine_probe probe; /* before and after it */
	struct histogram *rules;    /* one per rule: all values, or the matches; owned */
};

struct series {				  /* every text is owned */
	char *version;			  /* of frbpf */
	char *host, *kernel, *arch, *cpu; /* cpu: the model, as /proc/cpuinfo has it */
	uint32_t cpus;			  /* online */
	char *command;			  /* for a shell */
	uint64_t created;		  /* ns since 1970 */
	bool matches_only;		  /* as of run_opts */
	struct series_rule *rules;
	size_t n_rules;
	struct series_session *sessions;
	size_t n_sessions;
	struct run_sample *runs;
	size_t n_runs;
};

/* This machine, now, and @command with what @opts and @rules are. 0 or -ENOMEM; free it also then. */
int series__describe(char *const *command, const struct run_opts *opts,
		     const struct run_rules *rules, struct series *ret);
/* One more run, empty; NULL: out of memory. Valid until the next call. */
struct run_sample *series__add(struct series *s);
/* -EINVAL, with words, when what was measured in the two cannot be compared. @a is called the
 * baseline. */
int series__check_same(const struct series *a, const struct series *b, struct err *err);
/* Something that makes times of the two differ by itself: the machine. Words, or "" for nothing. */
void series__compare_machines(const struct series *a, const struct series *b, char ret[static 256]);
void series__free(struct series *s);

/* What a disturbance can change: being throttled takes time on the clock, and no CPU time. */
enum series_metric { SERIES_WALL, SERIES_CPU };

/* Did others leave the machine alone? @others_limit: of its capacity, 0 to 1. */
bool run_sample__is_quiet(const struct run_sample *run, enum series_metric metric,
			  double others_limit);
size_t series__quiet_runs(const struct series *s, enum series_metric metric, double others_limit);
/* Of two series that were measured in turns: the pairs whose two runs were left alone. */
size_t series__quiet_pairs(const struct series *a, const struct series *b,
			   enum series_metric metric, double others_limit);

/* Above these a run is disturbed; that of others can be chosen. */
#define SERIES_OTHERS_LIMIT    0.10 /* of the capacity of all CPUs */
#define SERIES_STEAL_PART      0.2  /* of that: how much a hypervisor may take */
#define SERIES_THROTTLED_LIMIT 0.02 /* of the time of the run */

#endif
