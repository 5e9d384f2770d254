/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The metrics that are compared: numbers of a run, the runs that count, and the ratio of one series
 * to the other, with its certainty (ratio.h).
 */
#ifndef FRBPF_BENCH_METRIC_H
#define FRBPF_BENCH_METRIC_H

#include "bench/ratio.h"
#include "bench/series.h"

#define COMPARE_ALPHA 0.005 /* on each side of the interval: 99 % */

enum verdict { VERDICT_PASS, VERDICT_REGRESSED, VERDICT_DISTURBED };
enum change { CHANGE_NONE, CHANGE_GREW, CHANGE_SHRANK, CHANGE_UNKNOWN };

struct spread {
	size_t n;		  /* compared runs */
	double low, median, high; /* quartiles */
};

struct compared {
	char name[160];
	bool is_time; /* ns; otherwise a number */
	bool decides;
	struct spread before, now;
	struct ratio ratio; /* valid if change is known */
	enum change change;
	enum verdict verdict; /* valid if it decides */
};

struct compare_opts {
	double tolerance;    /* 0.05: up to 5 % larger is no regression */
	double others_limit; /* share of the machine that others may use */
	bool paired;	     /* both series have the same number of runs */
};

/* Shared by all steps */
struct sides {
	const struct series *before, *now;
	struct compare_opts opts;
};

struct metric {
	const char *name; /* followed by the name of the rule, if of_rules */
	/* its value in a run; 0 or less: the run has none */
	double (*value)(const struct run_sample *run, size_t rule);
	bool is_time, decides, of_rules;
	enum series_metric disturbed_as;
};

/* Fixed work, which shows the speed of the machine */
struct machine_metric {
	struct metric metric;
	double felt; /* if it is R times slower, a program is at most pow(R, felt) times slower */
};

#define N_RUN_METRICS	  6
#define N_MACHINE_METRICS 3
extern const struct metric run_metrics[N_RUN_METRICS];
extern const struct machine_metric machine_metrics[N_MACHINE_METRICS];

/*
 * Number of undisturbed runs of @of, which is one of the two series. If the series are paired:
 * number of undisturbed pairs.
 */
size_t sides__quiet_runs(const struct sides *s, const struct series *of, enum series_metric metric);
/* Are there enough undisturbed runs, or pairs, to leave out the others? */
bool sides__enough_quiet(const struct sides *s, const struct series *of, enum series_metric metric);

/* Fill *ret without the verdict and the name. 0 or -ENOMEM. */
int metric__compare(const struct sides *s, const struct metric *m, size_t rule,
		    struct compared *ret);

#endif
