/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two series of runs compared. What decides is the time on the clock and the CPU time, each tested at
 * half of 1 %, so that of comparisons of a thing with itself at most 1 in 100 says that it became slower,
 * however the two hang together (Bonferroni). Everything else is shown with the same interval, and
 * decides nothing: values of rules and context switches depend on the machine more than on the code.
 *
 * A metric has regressed when the whole interval of its ratio is above 1 + tolerance, and the machine
 * does not explain it: enough runs were left alone, it is the same kind of machine, fixed
 * work of our own did not become slower for certain by more than the tolerance, and reading memory not by so
 * much that a program which loses its cache to neighbours would be as slow. Runs that were disturbed are left out where there are
 * enough others. With too few of them there is no verdict but `disturbed`.
 *
 * Series of pairs were measured in turns: run i of the one right before or after run i of the other. What the
 * machine does then is done to both, and explains nothing; what is compared is the ratio within pairs.
 */
#ifndef FRBPF_BENCH_AGAINST_H
#define FRBPF_BENCH_AGAINST_H

#include "bench/metric.h"

#define COMPARE_PRECISION 0.03
#define COMPARE_NOTES_MAX 512

/* Of the capacity of all CPUs; throttled of the time of the runs. */
struct use_shares {
	double others, steal, throttled, pressure_cpu, pressure_io, pressure_memory;
	uint64_t hot;
};

struct comparison {
	enum verdict verdict;
	bool paired;
	double tolerance, others_limit;
	size_t n_before, n_now;		/* runs */
	size_t quiet_before, quiet_now; /* left alone; of pairs: both of their runs were */
	struct use_shares use_before, use_now;
	double slower, faster; /* this machine is at least that many times; 1: nothing is certain */
	const char *slowest;   /* in what, if slower is above 1 */
	double felt; /* a program may be that many times slower by what shows of the machine; 1: no */
	double busy; /* of the baseline's time on the clock that it ran: only that can become so; at most 1 */
	const char *felt_in;	  /* shows in what, if felt is above 1 */
	char machine[256];	  /* how it is another one; "" */
	char why[256];		  /* of a verdict that is not `pass` */
	struct compared *metrics; /* owned */
	size_t n_metrics;
};

/* Both have SERIES_LEAST runs or more (pairs: SERIES_PAIRS_LEAST), and series__check_same() said that they can be
 * compared. 0 or -ENOMEM. */
int comparison__make(const struct series *before, const struct series *now,
		     const struct compare_opts *opts, struct comparison *ret);
void comparison__free(struct comparison *c);

/* How baseline @before is not of what @now says of itself, which needs no run yet: lines for people, or "". */
void comparison__note_differences(const struct series *before, const struct series *now,
				  char ret[static COMPARE_NOTES_MAX]);

/* Are the intervals of what decides so narrow that more runs would say little more: as far from the estimate, on
 * either side, as the tolerance and COMPARE_PRECISION? It says nothing of where they lie, so to go on until it
 * holds makes no verdict more likely. */
bool comparison__is_precise(const struct comparison *c);

/* From what value on @rule is to fire in a run that shows what became slower, ns: what 1 % of the values
 * of the baseline exceed if they grew, else the largest of them, but never above @own. */
uint64_t comparison__threshold(const struct comparison *c, const struct series *before, size_t rule,
			       uint64_t own);

const char *verdict__name(enum verdict v);
const char *change__name(enum change c);

#endif
