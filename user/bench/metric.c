// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "bench/metric.h"

static double wall_of(const struct run_sample *run, size_t rule)
{
	return run->wall;
}

static double cpu_of(const struct run_sample *run, size_t rule)
{
	return run->cpu;
}

/* One more than counted: a ratio needs values above 0. */
static double switches_of(const struct run_sample *run, size_t rule)
{
	return run->switches + 1.0;
}

static double preempted_of(const struct run_sample *run, size_t rule)
{
	return run->preempted + 1.0;
}

static double calculation_of(const struct run_sample *run, size_t rule)
{
	return run->probe.calculation;
}

static double run_memory(const struct run_sample *run, size_t rule)
{
	return run->probe.memory;
}

static double pages_of(const struct run_sample *run, size_t rule)
{
	return run->probe.pages;
}

static double mean_of(const struct run_sample *run, size_t rule)
{
	const struct histogram *h = &run->rules[rule];

	return h->n ? (double)h->sum / h->n : 0;
}

static double metric_number(const struct run_sample *run, size_t rule)
{
	return run->rules[rule].n + 1.0;
}

const struct metric run_metrics[N_RUN_METRICS] = {
	{ "time", wall_of, .is_time = true, .decides = true, .disturbed_as = SERIES_WALL },
	{ "CPU time", cpu_of, .is_time = true, .decides = true, .disturbed_as = SERIES_CPU },
	{ "context switches", switches_of },
	{ "preemptions", preempted_of },
	{ "rule %s: mean", mean_of, .is_time = true, .of_rules = true },
	{ "rule %s: number", metric_number, .of_rules = true },
};

const struct machine_metric machine_metrics[N_MACHINE_METRICS] = {
	{ { "a fixed calculation", calculation_of, .is_time = true }, 1 },
	/*
	 * This work always misses the near caches. A program that loses a shared cache to its
	 * neighbours is slowed down more, by up to this power. That was measured with 83 series of
	 * scripts/bench/verdicts.
	 */
	{ { "reading memory", run_memory, .is_time = true }, 5 },
	{ { "touching pages", pages_of, .is_time = true }, 1 },
};

size_t sides__quiet_runs(const struct sides *s, const struct series *of, enum series_metric metric)
{
	return s->opts.paired ? series__quiet_pairs(s->before, s->now, metric, s->opts.others_limit)
			      : series__quiet_runs(of, metric, s->opts.others_limit);
}

/*
 * Disturbed pairs are less certain, but not wrong: they are left out only if they are the minority.
 */
bool sides__enough_quiet(const struct sides *s, const struct series *of, enum series_metric metric)
{
	size_t n = sides__quiet_runs(s, of, metric);

	return s->opts.paired ? n >= SERIES_PAIRS_LEAST && 2 * n >= of->n_runs : n >= SERIES_LEAST;
}

static bool is_quiet(const struct sides *s, const struct run_sample *run, const struct metric *m)
{
	return run_sample__is_quiet(run, m->disturbed_as, s->opts.others_limit);
}

/*
 * Collect the values of undisturbed runs, or of all runs if those are too few; owned by the caller.
 */
static int collect_numbers(const struct sides *s, const struct series *of, const struct metric *m,
			   size_t rule, double **ret, size_t *ret_n)
{
	bool quiet = sides__enough_quiet(s, of, m->disturbed_as);
	double *v = calloc(of->n_runs + 1, sizeof(*v));
	size_t n = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < of->n_runs; i++) {
		double value = m->value(&of->runs[i], rule);

		if (value > 0 && (!quiet || is_quiet(s, &of->runs[i], m)))
			v[n++] = value;
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

/* The same for pairs: both values, or none. */
static int collect_pairs(const struct sides *s, const struct metric *m, size_t rule,
			 double **ret_before, double **ret_now, size_t *ret_n)
{
	bool quiet = sides__enough_quiet(s, s->now, m->disturbed_as);
	size_t n_runs = s->now->n_runs, n = 0;
	double *before = calloc(n_runs + 1, sizeof(*before));
	double *now = calloc(n_runs + 1, sizeof(*now));

	*ret_before = before;
	*ret_now = now;
	if (!before || !now)
		return -ENOMEM;
	for (size_t i = 0; i < n_runs; i++) {
		const struct run_sample *a = &s->before->runs[i], *b = &s->now->runs[i];

		if (quiet && (!is_quiet(s, a, m) || !is_quiet(s, b, m)))
			continue;
		before[n] = m->value(a, rule);
		now[n] = m->value(b, rule);
		n += before[n] > 0 && now[n] > 0;
	}
	*ret_n = n;
	return 0;
}

static struct spread spread_of(double *v, size_t n)
{
	if (!n)
		return (struct spread){ 0 };
	return (struct spread){ n, ratio__quantile(v, n, 0.25), ratio__quantile(v, n, 0.5),
				ratio__quantile(v, n, 0.75) };
}

/* Subtract the 1 that switches_of() and the like have added. */
static struct spread spread_less_one(struct spread s)
{
	if (!s.n)
		return s;
	return (struct spread){ s.n, s.low - 1, s.median - 1, s.high - 1 };
}

static enum change ratio_change(const struct ratio *r, double tolerance)
{
	if (!r->bounded)
		return CHANGE_UNKNOWN;
	if (r->low > 1 + tolerance)
		return CHANGE_GREW;
	return r->high < 1 / (1 + tolerance) ? CHANGE_SHRANK : CHANGE_NONE;
}

/* 0 or -ENOMEM. With too few values, the change is CHANGE_UNKNOWN. */
static int take_ratio(const struct sides *s, const double *before, size_t n_before,
		      const double *now, size_t n_now, struct compared *ret)
{
	int err = s->opts.paired
			  ? ratio__of_pairs(before, now, n_now, COMPARE_ALPHA, &ret->ratio)
			  : ratio__of(before, n_before, now, n_now, COMPARE_ALPHA, &ret->ratio);

	ret->change = err ? CHANGE_UNKNOWN : ratio_change(&ret->ratio, s->opts.tolerance);
	return err == -ENOMEM ? err : 0;
}

int metric__compare(const struct sides *s, const struct metric *m, size_t rule,
		    struct compared *ret)
{
	_cleanup_free_ double *before = NULL, *now = NULL;
	size_t n_before = 0, n_now = 0;
	int err;

	if (s->opts.paired) {
		err = collect_pairs(s, m, rule, &before, &now, &n_now);
		n_before = n_now;
	} else {
		err = collect_numbers(s, s->before, m, rule, &before, &n_before);
		err = err ?: collect_numbers(s, s->now, m, rule, &now, &n_now);
	}
	/* before the spreads, which sort the values: pairs need their order */
	err = err ?: take_ratio(s, before, n_before, now, n_now, ret);
	if (err)
		return err;
	if (!m->is_time) { /* show the original count */
		ret->before = spread_less_one(spread_of(before, n_before));
		ret->now = spread_less_one(spread_of(now, n_now));
	} else {
		ret->before = spread_of(before, n_before);
		ret->now = spread_of(now, n_now);
	}
	ret->is_time = m->is_time;
	ret->decides = m->decides;
	return 0;
}
