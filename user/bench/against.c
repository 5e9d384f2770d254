// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/against.h"

/* Shared by all steps */
struct maker {
	struct sides sides;
	struct comparison *c;
};

/*
 * How many times longer a metric becomes if CPUs and memory are @slower times slower: only running
 * time grows, not waiting.
 */
static double slowed_ratio(const struct comparison *c, const struct metric *m, double slower)
{
	return m->disturbed_as == SERIES_WALL ? 1 + (slower - 1) * c->busy : slower;
}

/* Does the machine explain that a metric grew? c->why says how. */
static bool machine_explains(struct comparison *c, const struct metric *m, const struct compared *r)
{
	double limit = 1 + c->tolerance;
	double slower = slowed_ratio(c, m, c->slower), felt = slowed_ratio(c, m, c->felt);

	if (c->paired)
		return false;
	if (*c->machine)
		snprintf(c->why, sizeof(c->why), "%.255s", c->machine);
	else if (slower > limit || r->ratio.low <= limit * slower)
		snprintf(c->why, sizeof(c->why),
			 "the machine is slower: %s takes %.2f times as long or more", c->slowest,
			 c->slower);
	else if (r->ratio.low <= limit * felt)
		snprintf(c->why, sizeof(c->why),
			 "the machine may be slower: as %s shows, a program that uses the caches "
			 "may take %.2f times as long",
			 c->felt_in, c->felt);
	else
		return false;
	return true;
}

/*
 * Can the machine hide that a metric grew? A metric that clearly grew in spite of it has regressed.
 */
static bool machine_hides(const struct maker *k, const struct metric *m)
{
	struct comparison *c = k->c;

	if (c->paired)
		return false;
	if (!sides__enough_quiet(&k->sides, k->sides.before, m->disturbed_as))
		snprintf(c->why, sizeof(c->why),
			 "others disturbed the baseline: only %zu of its %zu runs were "
			 "undisturbed; record it again",
			 c->quiet_before, c->n_before);
	else if (slowed_ratio(c, m, c->faster) <= 1 + c->tolerance)
		return false;
	else if (*c->machine) /* another machine: no wonder that it was slower */
		snprintf(c->why, sizeof(c->why), "%.255s", c->machine);
	else
		snprintf(c->why, sizeof(c->why),
			 "the machine was slower for the baseline, %.2f times or more: record it "
			 "again",
			 c->faster);
	return true;
}

/* The verdict is `disturbed` if the machine may have caused a difference, or may hide one. */
static enum verdict judge_metric(const struct maker *k, const struct metric *m,
				 const struct compared *r)
{
	struct comparison *c = k->c;
	bool quiet = sides__enough_quiet(&k->sides, k->sides.now, m->disturbed_as);

	if (r->change == CHANGE_UNKNOWN)
		snprintf(c->why, sizeof(c->why), "too few runs have a %s", r->name);
	else if (!quiet && !c->paired)
		snprintf(c->why, sizeof(c->why),
			 "others disturbed too many runs: %zu of %zu were undisturbed",
			 c->quiet_now, c->n_now);
	else if (r->change == CHANGE_GREW)
		return machine_explains(c, m, r) ? VERDICT_DISTURBED : VERDICT_REGRESSED;
	else if (!quiet && r->ratio.high > 1 + c->tolerance)
		snprintf(c->why, sizeof(c->why),
			 "others disturbed too many pairs of runs (%zu of %zu were undisturbed): "
			 "%.16s may be up to %.2f times the other's",
			 c->quiet_now, c->n_now, r->name, r->ratio.high);
	else
		return machine_hides(k, m) ? VERDICT_DISTURBED : VERDICT_PASS;
	return VERDICT_DISTURBED;
}

static void take_metric_verdict(const struct maker *k, const struct metric *m, struct compared *r)
{
	struct comparison *c = k->c;

	r->verdict = judge_metric(k, m, r);
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

static double busy_share(const struct series *s)
{
	double wall = 0, cpu = 0;

	for (size_t i = 0; i < s->n_runs; i++) {
		wall += s->runs[i].wall;
		cpu += s->runs[i].cpu;
	}
	return cpu < wall ? cpu / wall : 1;
}

/* A possible slowdown: a program may feel it more than the fixed work shows. */
static void note_possible_slowdown(struct comparison *c, const struct machine_metric *p,
				   const struct ratio *r)
{
	double felt = pow(r->estimate, p->felt);

	if (p->felt > 1 && felt > c->felt) {
		c->felt = felt;
		c->felt_in = p->metric.name;
	}
}

/* The certain slowdown or speed-up. */
static int compare_speed(const struct maker *k)
{
	struct comparison *c = k->c;
	int err = 0;

	c->slower = c->faster = c->felt = 1;
	for (size_t i = 0; i < N_MACHINE_METRICS && !err; i++) {
		const struct machine_metric *p = &machine_metrics[i];
		struct compared r = { 0 };

		err = metric__compare(&k->sides, &p->metric, 0, &r);
		if (err || r.change == CHANGE_UNKNOWN)
			continue;
		note_possible_slowdown(c, p, &r.ratio);
		if (r.ratio.low > c->slower) {
			c->slower = r.ratio.low;
			c->slowest = p->metric.name;
		}
		if (1 / r.ratio.high > c->faster)
			c->faster = 1 / r.ratio.high;
	}
	return err;
}

void comparison__note_differences(const struct series *a, const struct series *b,
				  char ret[static COMPARE_NOTES_MAX])
{
	snprintf(ret, COMPARE_NOTES_MAX, "%s%.200s%s%s%s",
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
	const struct series *s = k->sides.now;
	struct comparison *c = k->c;
	int err = 0;

	c->metrics = calloc(N_RUN_METRICS * (s->n_rules + 1), sizeof(*c->metrics));
	if (!c->metrics)
		return -ENOMEM;
	for (size_t rule = 0; rule <= s->n_rules && !err; rule++) {
		for (size_t i = 0; i < N_RUN_METRICS && !err; i++) {
			const struct metric *m = &run_metrics[i];
			struct compared *to = &c->metrics[c->n_metrics];

			if (m->of_rules != (rule > 0))
				continue;
			if (m->of_rules)
				snprintf(to->name, sizeof(to->name), "rule %.100s: %s",
					 s->rules[rule - 1].name, strchr(m->name, ':') + 2);
			else
				snprintf(to->name, sizeof(to->name), "%s", m->name);
			err = metric__compare(&k->sides, m, rule - 1, to);
			if (!err && m->decides)
				take_metric_verdict(k, m, to);
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
		.busy = busy_share(before),
		.use_before = shares_of(before),
		.use_now = shares_of(now),
	};
	struct maker k = { { before, now, *opts }, &c };
	int err;

	c.quiet_before = sides__quiet_runs(&k.sides, before, SERIES_WALL);
	c.quiet_now = sides__quiet_runs(&k.sides, now, SERIES_WALL);
	if (!c.paired)
		series__compare_machines(before, now, c.machine);
	err = compare_speed(&k);
	err = err ?: add_metrics(&k);
	if (err) {
		comparison__free(&c);
		return err;
	}
	note_regressed(&c);
	*ret = c;
	return 0;
}

bool comparison__is_precise(const struct comparison *c)
{
	double most = 1 + c->tolerance + COMPARE_PRECISION;

	for (size_t i = 0; i < c->n_metrics; i++) {
		const struct compared *m = &c->metrics[i];

		if (m->decides && (!m->ratio.bounded || m->ratio.high > m->ratio.low * most * most))
			return false;
	}
	return true;
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
