/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A series of runs of one command: the command, machine, rules and sessions, and the measurements
 * of every run. It is the content of a baseline file, and what is compared with it. Life: { 0 },
 * series__describe() or baseline__read(), series__add() for each run, series__free().
 */
#ifndef FRBPF_BENCH_SERIES_H
#define FRBPF_BENCH_SERIES_H

#include "bench/machine_probe.h"
#include "common/err.h"
#include "run/histogram.h"
#include "run/measure.h"
#include "run/run_rules.h"

#define SERIES_RUNS_MAX	   1000
#define SERIES_LEAST	   5 /* useful minimum of runs: 5 against 5 just reach 0.5 % */
#define SERIES_PAIRS_LEAST 8 /* useful minimum of pairs */

struct series_rule { /* all members are owned */
	char *name, *when;
	char *condition; /* NULL: none */
};

struct series_session { /* owned */
	char *name, *run;
};

struct run_sample {		      /* ns unless noted */
	uint64_t wall;		      /* from exec to the end of the command */
	uint64_t cpu;		      /* user and system, with all forked processes */
	uint64_t switches, preempted; /* number of switches: to wait; by preemption */
	struct machine_use machine;
	struct machine_probe probe; /* before and after the run */
	struct histogram *rules;    /* one per rule: of all values, or of matches; owned */
};

struct series {				  /* all strings are owned */
	char *version;			  /* of frbpf */
	char *host, *kernel, *arch, *cpu; /* cpu: the model in /proc/cpuinfo */
	uint32_t cpus;			  /* online */
	char *command;			  /* for a shell */
	uint64_t created;		  /* ns since 1970 */
	bool matches_only;		  /* as in run_opts */
	struct series_rule *rules;
	size_t n_rules;
	struct series_session *sessions;
	size_t n_sessions;
	struct run_sample *runs;
	size_t n_runs;
};

/*
 * Describe the current machine, @command, and its options and rules. 0 or -ENOMEM; free it also
 * then.
 */
int series__describe(char *const *command, const struct run_opts *opts,
		     const struct run_rules *rules, struct series *ret);
/* Add an empty run; NULL: out of memory. Valid until the next call. */
struct run_sample *series__add(struct series *s);
/*
 * -EINVAL, message in @err: the measurements of the two cannot be compared. The message calls @a
 * the baseline.
 */
int series__check_same(const struct series *a, const struct series *b, struct err *err);
/* Differences between the machines that change times: a text, or "". */
void series__compare_machines(const struct series *a, const struct series *b, char ret[static 256]);
void series__free(struct series *s);

/* The metric that a disturbance affects: throttling costs wall time, but no CPU time. */
enum series_metric { SERIES_WALL, SERIES_CPU };

/* Was the run undisturbed? @others_limit: share of the machine's capacity, 0 to 1 (any). */
bool run_sample__is_quiet(const struct run_sample *run, enum series_metric metric,
			  double others_limit);
size_t series__quiet_runs(const struct series *s, enum series_metric metric, double others_limit);
/* Number of pairs with two undisturbed runs, for series measured in turns. */
size_t series__quiet_pairs(const struct series *a, const struct series *b,
			   enum series_metric metric, double others_limit);

/* Above these limits a run is disturbed. An option sets the first. */
#define SERIES_OTHERS_LIMIT    0.10 /* share of the capacity of all CPUs */
#define SERIES_STEAL_PART      0.2  /* part of that limit that a hypervisor may steal */
#define SERIES_THROTTLED_LIMIT 0.02 /* share of the time of the run */

#endif
