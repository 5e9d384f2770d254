/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compares two series of runs. Wall time and CPU time decide. Each is tested at half of 1 %. So a
 * comparison of a thing with itself finds a regression at most 1 time in 100, however the two are
 * correlated (Bonferroni). Everything else is shown with the same interval, and decides nothing:
 * values of rules and context switches depend on the machine more than on the code.
 *
 * A metric has regressed if the whole interval of its ratio is above 1 + tolerance, and the machine
 * does not explain that. The machine does not explain it if all of these are true:
 * - enough runs were undisturbed;
 * - the machine is of the same kind;
 * - fixed work is not slower, with certainty, by more than the tolerance;
 * - reading memory is not so much slower that losing a cache to neighbours could explain it.
 *
 * Disturbed runs are left out if there are enough others. If there are too few, the verdict is
 * always `disturbed`.
 *
 * Paired series were measured in turns: run i of one right before or after run i of the other. The
 * machine affects both alike, so it explains nothing. The ratio within pairs is compared.
 */
#ifndef FRBPF_BENCH_AGAINST_H
#define FRBPF_BENCH_AGAINST_H

#include "bench/metric.h"

#define COMPARE_PRECISION 0.03
#define COMPARE_NOTES_MAX 512

/* Shares of the capacity of all CPUs; throttled: share of the time of the runs */
struct use_shares {
	double others, steal, throttled, pressure_cpu, pressure_io, pressure_memory;
	uint64_t hot;
};

struct comparison {
	enum verdict verdict;
	bool paired;
	double tolerance, others_limit;
	size_t n_before, n_now;		/* runs */
	size_t quiet_before, quiet_now; /* undisturbed; with pairs: pairs of two undisturbed runs */
	struct use_shares use_before, use_now;
	/* this machine is at least this many times slower, or faster; 1: nothing is certain */
	double slower, faster;
	const char *slowest; /* the work that slowed down most, if slower is above 1 */
	/* how many times slower the machine alone may make a program; 1: not slower */
	double felt;
	/*
	 * share of the baseline's wall time in which the command ran: only that time can grow; at
	 * most 1
	 */
	double busy;
	const char *felt_in;	  /* the work that shows this, if felt is above 1 */
	char machine[256];	  /* how the machine differs; "" */
	char why[256];		  /* the reason for a verdict other than `pass` */
	struct compared *metrics; /* owned */
	size_t n_metrics;
};

/*
 * Compare. Both series have at least SERIES_LEAST runs (SERIES_PAIRS_LEAST pairs), and passed
 * series__check_same(). 0 or -ENOMEM.
 */
int comparison__make(const struct series *before, const struct series *now,
		     const struct compare_opts *opts, struct comparison *ret);
void comparison__free(struct comparison *c);

/*
 * List how baseline @before differs from the description of @now, which needs no runs yet: lines
 * for people, or "".
 */
void comparison__note_differences(const struct series *before, const struct series *now,
				  char ret[static COMPARE_NOTES_MAX]);

/*
 * Are the deciding intervals so narrow that more runs would say little more? On either side they
 * reach no further from the estimate than the tolerance and COMPARE_PRECISION. The position of the
 * intervals does not count, so running until this is true makes no verdict more likely.
 */
bool comparison__is_precise(const struct comparison *c);

/*
 * The threshold of @rule, ns, for a run that shows what became slower. It is the value that 1 % of
 * the baseline's values exceed, if values grew; otherwise their maximum. Never above @own.
 */
uint64_t comparison__threshold(const struct comparison *c, const struct series *before, size_t rule,
			       uint64_t own);

const char *verdict__name(enum verdict v);
const char *change__name(enum change c);

#endif
