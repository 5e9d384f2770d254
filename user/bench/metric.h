/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is compared of two series of runs: numbers of a run, which of its runs count, and how many times larger those of one
 * series are, with how certain that is (ratio.h).
 */
#ifndef FRBPF_BENCH_METRIC_H
#define FRBPF_BENCH_METRIC_H

#include "bench/ratio.h"
#include "bench/series.h"

#define COMPARE_ALPHA 0.005 /* on either side of the interval: 99 % */

enum verdict { VERDICT_PASS, VERDICT_REGRESSED, VERDICT_DISTURBED };
enum change { CHANGE_NONE, CHANGE_GREW, CHANGE_SHRANK, CHANGE_UNKNOWN };

struct spread {
	size_t n;		  /* runs that are compared */
	double low, median, high; /* quartiles */
};

struct compared {
	char name[160];
	bool is_time; /* ns; else a number */
	bool decides;
	struct spread before, now;
	struct ratio ratio; /* where change is known */
	enum change change;
	enum verdict verdict; /* where it decides */
};

struct compare_opts {
	double tolerance;    /* 0.05: what is 5 % larger is no regression */
	double others_limit; /* share of the machine that others may use */
	bool paired;	     /* both series have as many runs */
};

/* What all steps share. */
struct sides {
	const struct series *before, *now;
	struct compare_opts opts;
};

struct metric {
	const char *name; /* with the name of a rule, where it is one of rules */
	/* as a number of a run; 0 or less: this run has none */
	double (*value)(const struct run_sample *run, size_t rule);
	bool is_time, decides, of_rules;
	enum series_metric disturbed_as;
};

/* Fixed work, which tells how fast the machine is. */
struct machine_metric {
	struct metric metric;
	double felt; /* power of it by which a program may become slower */
};

#define N_RUN_METRICS	  6
#define N_MACHINE_METRICS 3
extern const struct metric run_metrics[N_RUN_METRICS];
extern const struct machine_metric machine_metrics[N_MACHINE_METRICS];

/* How many of the runs of @of, one of the two, were left alone; with pairs, how many pairs. */
size_t sides__quiet_runs(const struct sides *s, const struct series *of, enum series_metric metric);
/* Enough of them, so that the others can be left out. */
bool sides__enough_quiet(const struct sides *s, const struct series *of, enum series_metric metric);

/* Everything of *ret but its name and its verdict. 0 or -ENOMEM. */
int metric__compare(const struct sides *s, const struct metric *m, size_t rule,
		    struct compared *ret);

#endif
