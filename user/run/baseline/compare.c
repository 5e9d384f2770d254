// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "run/baseline/compare.h"

/* What is compared, as a number of a run; 0 or less: this run has none. */
typedef double (*metric_fn)(const struct run_sample *run, size_t rule);

static double wall_of(const struct run_sample *run, size_t rule)
{
	return run->wall;
}

static double cpu_of(const struct run_sample *run, size_t rule)
{
	return run->cpu;
}

/* One more than there were: a ratio needs something above 0. */
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
	return run->machine.probe.calculation;
}

static double memory_of(const struct run_sample *run, size_t rule)
{
	return run->machine.probe.memory;
}

static double pages_of(const struct run_sample *run, size_t rule)
{
	return run->machine.probe.pages;
}

static double mean_of(const struct run_sample *run, size_t rule)
{
	const struct histogram *h = &run->rules[rule];

	return h->n ? (double)h->sum / h->n : 0;
}

static double number_of(const struct run_sample *run, size_t rule)
{
	return run->rules[rule].n + 1.0;
}

static const struct metric {
	const char *name; /* with the name of a rule, where it is one of rules */
	metric_fn value;
	bool is_time, decides, of_rules;
	enum series_metric disturbed_as;
} metrics[] = {
	{ "time", wall_of, .is_time = true, .decides = true, .disturbed_as = SERIES_WALL },
	{ "CPU time", cpu_of, .is_time = true, .decides = true, .disturbed_as = SERIES_CPU },
	{ "context switches", switches_of },
	{ "preemptions", preempted_of },
	{ "rule %s: mean", mean_of, .is_time = true, .of_rules = true },
	{ "rule %s: number", number_of, .of_rules = true },
};

/* Fixed work, which tells how fast the machine is. */
static const struct probe {
	struct metric metric;
	double felt; /* power of it by which a program may become slower */
} probes[] = {
	{ { "a fixed calculation", calculation_of, .is_time = true }, 1 },
	/* It is in no near cache, whoever has them. A program that was in the one that neighbours share, and is
	 * no longer, loses more: up to this power of it, by 83 series of scripts/bench/verdicts. */
	{ { "reading memory", memory_of, .is_time = true }, 5 },
	{ { "touching pages", pages_of, .is_time = true }, 1 },
};

/* What all steps share. */
struct maker {
	const struct series *before, *now;
	struct comparison *c;
};

/* How many of them were left alone; with pairs, how many pairs. */
static size_t quiet_runs(const struct maker *k, const struct series *s, enum series_metric metric)
{
	return k->c->paired ? series__quiet_pairs(k->before, k->now, metric, k->c->others_limit)
			    : series__quiet_runs(s, metric, k->c->others_limit);
}

/* Enough of them, so that the others can be left out. What disturbed pairs say is less sure and no less true:
 * they are left out where they are the fewer. */
static bool enough_quiet(const struct maker *k, const struct series *s, enum series_metric metric)
{
	size_t n = quiet_runs(k, s, metric);

	return k->c->paired ? n >= SERIES_PAIRS_LEAST && 2 * n >= s->n_runs : n >= SERIES_LEAST;
}

static bool is_quiet(const struct maker *k, const struct run_sample *run, const struct metric *m)
{
	return run_sample__is_quiet(run, m->disturbed_as, k->c->others_limit);
}

/* The values of the runs that were left alone, or of all where these are too few; owned by the caller. */
static int collect(const struct maker *k, const struct series *s, const struct metric *m,
		   size_t rule, double **ret, size_t *ret_n)
{
	bool quiet = enough_quiet(k, s, m->disturbed_as);
	double *v = calloc(s->n_runs + 1, sizeof(*v));
	size_t n = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_runs; i++) {
		double value = m->value(&s->runs[i], rule);

		if (value > 0 && (!quiet || is_quiet(k, &s->runs[i], m)))
			v[n++] = value;
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

/* The same of pairs: both values, or none. */
static int collect_pairs(const struct maker *k, const struct metric *m, size_t rule,
			 double **ret_before, double **ret_now, size_t *ret_n)
{
	bool quiet = enough_quiet(k, k->now, m->disturbed_as);
	size_t n_runs = k->now->n_runs, n = 0;
	double *before = calloc(n_runs + 1, sizeof(*before));
	double *now = calloc(n_runs + 1, sizeof(*now));

	*ret_before = before;
	*ret_now = now;
	if (!before || !now)
		return -ENOMEM;
	for (size_t i = 0; i < n_runs; i++) {
		const struct run_sample *a = &k->before->runs[i], *b = &k->now->runs[i];

		if (quiet && (!is_quiet(k, a, m) || !is_quiet(k, b, m)))
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

/* Of those that are one more than there were. */
static struct spread less_one(struct spread s)
{
	if (!s.n)
		return s;
	return (struct spread){ s.n, s.low - 1, s.median - 1, s.high - 1 };
}

static enum change change_of(const struct ratio *r, double tolerance)
{
	if (!r->bounded)
		return CHANGE_UNKNOWN;
	if (r->low > 1 + tolerance)
		return CHANGE_GREW;
	return r->high < 1 / (1 + tolerance) ? CHANGE_SHRANK : CHANGE_NONE;
}

/* -ENOMEM; where there are too few of them the change is unknown. */
static int take_ratio(const struct maker *k, const double *before, size_t n_before,
		      const double *now, size_t n_now, struct compared *ret)
{
	int err = k->c->paired
			  ? ratio__of_pairs(before, now, n_now, COMPARE_ALPHA, &ret->ratio)
			  : ratio__of(before, n_before, now, n_now, COMPARE_ALPHA, &ret->ratio);

	ret->change = err ? CHANGE_UNKNOWN : change_of(&ret->ratio, k->c->tolerance);
	return err == -ENOMEM ? err : 0;
}

static int compare_metric(const struct maker *k, const struct metric *m, size_t rule,
			  struct compared *ret)
{
	_cleanup_free_ double *before = NULL, *now = NULL;
	size_t n_before = 0, n_now = 0;
	int err;

	if (k->c->paired) {
		err = collect_pairs(k, m, rule, &before, &now, &n_now);
		n_before = n_now;
	} else {
		err = collect(k, k->before, m, rule, &before, &n_before);
		err = err ? err : collect(k, k->now, m, rule, &now, &n_now);
	}
	/* of pairs before the spreads, which sort */
	err = err ? err : take_ratio(k, before, n_before, now, n_now, ret);
	if (err)
		return err;
	if (!m->is_time) { /* shown as it was counted */
		ret->before = less_one(spread_of(before, n_before));
		ret->now = less_one(spread_of(now, n_now));
	} else {
		ret->before = spread_of(before, n_before);
		ret->now = spread_of(now, n_now);
	}
	ret->is_time = m->is_time;
	ret->decides = m->decides;
	return 0;
}

/* How the machine explains that something grew, into c->why. False: not at all. */
static bool machine_explains(struct comparison *c, const struct compared *r)
{
	double limit = 1 + c->tolerance;

	if (c->paired)
		return false;
	if (*c->machine)
		snprintf(c->why, sizeof(c->why), "%.255s", c->machine);
	else if (c->slower > limit || r->ratio.low <= limit * c->slower)
		snprintf(c->why, sizeof(c->why),
			 "the machine is slower: %s takes %.2f times as long or more", c->slowest,
			 c->slower);
	else if (r->ratio.low <= limit * c->felt)
		snprintf(c->why, sizeof(c->why),
			 "the machine may be slower: by what %s shows, %.2f times for a program "
			 "that uses the caches",
			 c->felt_in, c->felt);
	else
		return false;
	return true;
}

/* How it can hide that something grew. */
static bool machine_hides(const struct maker *k, const struct metric *m)
{
	struct comparison *c = k->c;

	if (c->paired)
		return false;
	if (!enough_quiet(k, k->before, m->disturbed_as))
		snprintf(c->why, sizeof(c->why),
			 "the baseline was: %zu of its %zu runs were left alone: record it again",
			 c->quiet_before, c->n_before);
	else if (c->faster > 1 + c->tolerance)
		snprintf(c->why, sizeof(c->why),
			 "the machine was slower for the baseline, %.2f times or more: record it "
			 "again",
			 c->faster);
	else
		return false;
	return true;
}

/* The machine's part in it: `disturbed` where it can explain what is seen, or hide what is not. */
static enum verdict judge(const struct maker *k, const struct metric *m, const struct compared *r)
{
	struct comparison *c = k->c;
	bool quiet = enough_quiet(k, k->now, m->disturbed_as);

	if (r->change == CHANGE_UNKNOWN)
		snprintf(c->why, sizeof(c->why), "too few runs have a %s", r->name);
	else if (!quiet && !c->paired)
		snprintf(c->why, sizeof(c->why),
			 "others disturbed too many runs: %zu of %zu were left alone", c->quiet_now,
			 c->n_now);
	else if (r->change == CHANGE_GREW)
		return machine_explains(c, r) ? VERDICT_DISTURBED : VERDICT_REGRESSED;
	else if (!quiet && r->ratio.high > 1 + c->tolerance)
		snprintf(c->why, sizeof(c->why),
			 "others disturbed too many pairs of runs (%zu of %zu were left alone): "
			 "%.16s may be up to %.2f times the other's",
			 c->quiet_now, c->n_now, r->name, r->ratio.high);
	else
		return machine_hides(k, m) ? VERDICT_DISTURBED : VERDICT_PASS;
	return VERDICT_DISTURBED;
}

static void take_verdict(const struct maker *k, const struct metric *m, struct compared *r)
{
	struct comparison *c = k->c;

	r->verdict = judge(k, m, r);
	if (r->verdict == VERDICT_REGRESSED)
		c->verdict = VERDICT_REGRESSED;
	else if (r->verdict == VERDICT_DISTURBED && c->verdict == VERDICT_PASS)
		c->verdict = VERDICT_DISTURBED;
}

static void note_regressed(struct comparison *c)
{
	size_t len = 0;

	if (c->verdict != VERDICT_REGRESSED)
		return;
	for (size_t i = 0; i < c->n_metrics && len < sizeof(c->why); i++) {
		const struct compared *r = &c->metrics[i];

		if (!r->decides || r->verdict != VERDICT_REGRESSED)
			continue;
		len += snprintf(c->why + len, sizeof(c->why) - len,
				"%s%s %.2f times %s (%.2f to %.2f)", len ? "; " : "", r->name,
				r->ratio.estimate, c->paired ? "the other's" : "the baseline",
				r->ratio.low, r->ratio.high);
	}
}

static struct use_shares shares_of(const struct series *s)
{
	double capacity = 0, wall = 0, cpus = s->cpus ?: 1;
	struct use_shares u = { 0 };

	for (size_t i = 0; i < s->n_runs; i++) {
		const struct machine_use *m = &s->runs[i].machine;

		capacity += m->capacity;
		wall += s->runs[i].wall;
		u.others += m->others;
		u.steal += m->steal;
		u.throttled += m->throttled;
		u.hot += m->hot;
		u.pressure_cpu += m->pressure_cpu * cpus;
		u.pressure_io += m->pressure_io * cpus;
		u.pressure_memory += m->pressure_memory * cpus;
	}
	u.others /= capacity;
	u.steal /= capacity;
	u.throttled /= wall;
	u.pressure_cpu /= capacity;
	u.pressure_io /= capacity;
	u.pressure_memory /= capacity;
	return u;
}

/* What may be, where it is felt more than it shows. */
static void take_felt(struct comparison *c, const struct probe *p, const struct ratio *r)
{
	double felt = pow(r->estimate, p->felt);

	if (p->felt > 1 && felt > c->felt) {
		c->felt = felt;
		c->felt_in = p->metric.name;
	}
}

/* What is certain of it. */
static int compare_speed(const struct maker *k)
{
	struct comparison *c = k->c;
	int err = 0;

	c->slower = c->faster = c->felt = 1;
	for (size_t i = 0; i < ARRAY_SIZE(probes) && !err; i++) {
		struct compared r = { 0 };

		err = compare_metric(k, &probes[i].metric, 0, &r);
		if (err || r.change == CHANGE_UNKNOWN)
			continue;
		take_felt(c, &probes[i], &r.ratio);
		if (r.ratio.low > c->slower) {
			c->slower = r.ratio.low;
			c->slowest = probes[i].metric.name;
		}
		if (1 / r.ratio.high > c->faster)
			c->faster = 1 / r.ratio.high;
	}
	return err;
}

static void note_differences(const struct maker *k)
{
	struct comparison *c = k->c;
	const struct series *a = k->before, *b = k->now;

	snprintf(c->notes, sizeof(c->notes), "%s%.200s%s%s%s",
		 strcmp(a->command, b->command) ? "the baseline is of another command: " : "",
		 strcmp(a->command, b->command) ? a->command : "",
		 strcmp(a->command, b->command) ? "\n" : "",
		 strcmp(a->kernel, b->kernel) ? "the baseline is of another kernel\n" : "",
		 strcmp(a->version, b->version) ? "the baseline is of another frbpf: recording may "
						  "cost another time\n"
						: "");
}

static int add_metrics(const struct maker *k)
{
	const struct series *s = k->now;
	struct comparison *c = k->c;
	int err = 0;

	c->metrics = calloc(ARRAY_SIZE(metrics) * (s->n_rules + 1), sizeof(*c->metrics));
	if (!c->metrics)
		return -ENOMEM;
	for (size_t rule = 0; rule <= s->n_rules && !err; rule++) {
		for (size_t i = 0; i < ARRAY_SIZE(metrics) && !err; i++) {
			const struct metric *m = &metrics[i];
			struct compared *to = &c->metrics[c->n_metrics];

			if (m->of_rules != (rule > 0))
				continue;
			if (m->of_rules)
				snprintf(to->name, sizeof(to->name), "rule %.100s: %s",
					 s->rules[rule - 1].name, strchr(m->name, ':') + 2);
			else
				snprintf(to->name, sizeof(to->name), "%s", m->name);
			err = compare_metric(k, m, rule - 1, to);
			if (!err && m->decides)
				take_verdict(k, m, to);
			c->n_metrics++;
		}
	}
	return err;
}

int comparison__make(const struct series *before, const struct series *now,
		     const struct compare_opts *opts, struct comparison *ret)
{
	struct comparison c = {
		.paired = opts->paired,
		.tolerance = opts->tolerance,
		.others_limit = opts->others_limit,
		.n_before = before->n_runs,
		.n_now = now->n_runs,
		.use_before = shares_of(before),
		.use_now = shares_of(now),
	};
	struct maker k = { before, now, &c };
	int err;

	c.quiet_before = quiet_runs(&k, before, SERIES_WALL);
	c.quiet_now = quiet_runs(&k, now, SERIES_WALL);
	if (!c.paired) {
		series__compare_machines(before, now, c.machine);
		note_differences(&k);
	}
	err = compare_speed(&k);
	err = err ? err : add_metrics(&k);
	if (err) {
		comparison__free(&c);
		return err;
	}
	note_regressed(&c);
	*ret = c;
	return 0;
}

void comparison__free(struct comparison *c)
{
	free(c->metrics);
	*c = (struct comparison){ 0 };
}

static bool values_grew(const struct comparison *c, const struct series *s, size_t rule)
{
	char name[160];

	snprintf(name, sizeof(name), "rule %.100s: mean", s->rules[rule].name);
	for (size_t i = 0; i < c->n_metrics; i++) {
		if (strcmp(c->metrics[i].name, name) == 0)
			return c->metrics[i].change == CHANGE_GREW;
	}
	return false;
}

uint64_t comparison__threshold(const struct comparison *c, const struct series *before, size_t rule,
			       uint64_t own)
{
	struct histogram all = { 0 };
	uint64_t from;

	for (size_t i = 0; i < before->n_runs; i++) {
		const struct histogram *h = &before->runs[i].rules[rule];

		for (int k = 0; k < FRBPF_MAX_VALUES; k++)
			all.buckets[k] += h->buckets[k];
		all.n += h->n;
		all.max = h->max > all.max ? h->max : all.max;
	}
	if (!all.n)
		return own;
	from = values_grew(c, before, rule) ? histogram__percentile(&all, 99) : all.max;
	return from < own ? from : own;
}

const char *verdict__name(enum verdict v)
{
	static const char *const names[] = {
		[VERDICT_PASS] = "pass",
		[VERDICT_REGRESSED] = "regressed",
		[VERDICT_DISTURBED] = "disturbed",
	};

	return names[v];
}

const char *change__name(enum change c)
{
	static const char *const names[] = {
		[CHANGE_NONE] = "none",
		[CHANGE_GREW] = "grew",
		[CHANGE_SHRANK] = "shrank",
		[CHANGE_UNKNOWN] = "unknown",
	};

	return names[c];
}
