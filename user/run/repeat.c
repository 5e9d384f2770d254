// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "run/baseline/baseline.h"
#include "run/repeat.h"

bool repeat__is_single(const struct run_opts *opts)
{
	return !opts->repeat && !opts->baseline && !opts->save_baseline && !opts->against;
}

static int read_baseline(struct repeat *r, struct err *err)
{
	const char *path = r->opts->baseline;
	int code = baseline__read(path, err, &r->before);

	if (code)
		return code;
	code = series__check_same(&r->before, &r->now, err);
	if (code)
		return err_prefix(err, code, "--baseline %s: ", path);
	if (r->before.n_runs < SERIES_LEAST)
		return err_set(err, -EINVAL,
			       "--baseline %s: it has %zu runs, too few to tell anything: at "
			       "least %d are needed",
			       path, r->before.n_runs, SERIES_LEAST);
	return 0;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As execvp(3) looks for it. */
static bool is_executable(const char *name)
{
	const char *at = getenv("PATH") ?: "/bin:/usr/bin";
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return is_program(name);
	for (;; at++) {
		int len = strcspn(at, ":");

		snprintf(path, sizeof(path), "%.*s%s%s", len, at, len ? "/" : "", name);
		if (is_program(path))
			return true;
		at += len;
		if (!*at)
			return false;
	}
}

static size_t runs_wanted(const struct repeat *r)
{
	size_t n;

	if (r->opts->repeat)
		return r->opts->repeat;
	if (!r->opts->baseline) /* a new one, or pairs */
		return REPEAT_DEFAULT;
	/* as many as of the baseline were not made in place of others */
	n = series__quiet_runs(&r->before, SERIES_WALL, r->opts->others_limit);
	return n >= SERIES_LEAST ? n : SERIES_LEAST;
}

int repeat__open(const struct run_opts *opts, const struct run_rules *rules, struct err *err,
		 struct repeat *ret)
{
	struct repeat *r = ret;
	int code = 0;

	r->opts = opts;
	r->machine = machine__open();
	if (!r->machine || series__describe(opts->command, opts, rules, &r->now) ||
	    (opts->against && series__describe(opts->against, opts, rules, &r->before)))
		return err_set(err, -ENOMEM, "out of memory");
	if (opts->save_baseline)
		code = baseline__check_writable(opts->save_baseline, opts->force, err);
	if (!code && opts->baseline)
		code = read_baseline(r, err);
	if (!code && opts->against && !is_executable(opts->against[0]))
		code = err_set(err, -ENOENT, "--against %s: no such program", opts->against[0]);
	if (!code)
		r->wanted = runs_wanted(r);
	return code;
}

static uint64_t time_of(const struct rusage *u)
{
	return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000ULL +
	       (u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000ULL;
}

/* What drifts does so for both: this one, the other, the other, this one, and again. */
bool repeat__is_other(const struct repeat *r)
{
	size_t place = (r->now.n_runs + r->before.n_runs) % 4;

	return r->opts->against && (place == 1 || place == 2);
}

void repeat__begin(struct repeat *r)
{
	struct rusage own, children;

	r->probe = (struct machine_probe){ 0 };
	machine__probe(r->machine, &r->probe);
	machine__read(r->machine, &r->began);
	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	r->own = time_of(&own);
	r->children = time_of(&children);
	r->switches = children.ru_nvcsw;
	r->preempted = children.ru_nivcsw;
	r->running = repeat__is_other(r) ? &r->before : &r->now;
	r->start = now_ns();
}

int repeat__end(struct repeat *r, const struct child *child)
{
	struct run_sample *run = series__add(r->running);
	struct machine_sample ended;
	struct rusage own, children;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	machine__read(r->machine, &ended);
	if (!run)
		return -ENOMEM;
	run->wall = child->ended_at - r->start;
	run->cpu = time_of(&children) - r->children;
	run->switches = children.ru_nvcsw - r->switches;
	run->preempted = children.ru_nivcsw - r->preempted;
	run->machine = machine__between(&r->began, &ended, run->cpu + time_of(&own) - r->own);
	machine__probe(r->machine, &r->probe);
	run->machine.probe = r->probe;
	return 0;
}

void repeat__take_rules(struct repeat *r, const struct outcome *o)
{
	struct run_sample *run = &r->running->runs[r->running->n_runs - 1];

	for (size_t i = 0; i < o->n_rules && i < r->running->n_rules; i++)
		run->rules[i] = o->rules[i].has_values ? o->rules[i].values : o->rules[i].matches;
}

bool repeat__enough_pairs(const struct series *other, const struct series *this, size_t wanted,
			  const struct compare_opts *opts)
{
	size_t n = this->n_runs;
	struct comparison c;
	bool precise;

	if (n < wanted || n != other->n_runs) /* there may be half of a pair */
		return false;
	if (n >= PAIRS_EXTRA * wanted || n >= SERIES_RUNS_MAX ||
	    comparison__make(other, this, opts, &c))
		return true;
	precise = comparison__is_precise(&c);
	comparison__free(&c);
	return precise;
}

static struct compare_opts compare_opts(const struct repeat *r)
{
	return (struct compare_opts){ r->opts->tolerance, r->opts->others_limit,
				      .paired = r->opts->against };
}

bool repeat__goes_on(const struct repeat *r)
{
	struct compare_opts opts = compare_opts(r);
	size_t n = r->now.n_runs;

	if (r->opts->against)
		return !repeat__enough_pairs(&r->before, &r->now, r->wanted, &opts);
	if (!r->opts->baseline && !r->opts->save_baseline)
		return n < r->wanted;
	return series__quiet_runs(&r->now, SERIES_WALL, r->opts->others_limit) < r->wanted &&
	       n < REPEAT_EXTRA * r->wanted && n < SERIES_RUNS_MAX;
}

static bool compare(struct repeat *r)
{
	struct compare_opts opts = compare_opts(r);
	struct comparison *c = &r->comparison;

	if (comparison__make(&r->before, &r->now, &opts, c)) {
		log_error("the runs cannot be compared: out of memory");
		return false;
	}
	r->compared = true;
	if (c->verdict == VERDICT_REGRESSED)
		log_error("regressed: %s", c->why);
	else if (c->verdict == VERDICT_DISTURBED)
		log_warn("disturbed, so there is no verdict: %s", c->why);
	else
		log_info("pass: as fast as %s, or within %g %% of it",
			 c->paired ? r->before.command : "the baseline", c->tolerance * 100);
	for (char *line = c->notes, *end; (end = strchr(line, '\n')); line = end + 1)
		log_warn("%.*s", (int)(end - line), line);
	return true;
}

static bool save(const struct repeat *r)
{
	const char *path = r->opts->save_baseline;
	struct err err = { 0 };
	size_t quiet = series__quiet_runs(&r->now, SERIES_WALL, r->opts->others_limit);

	if (baseline__write(path, &r->now, r->opts->force, &err)) {
		log_error("%s", err.msg);
		return false;
	}
	log_info("%s: baseline of %zu runs", path, r->now.n_runs);
	if (quiet < SERIES_LEAST)
		log_warn("others used the machine while the baseline was recorded: %zu of %zu runs "
			 "were left alone, and what is compared with it will be `disturbed`",
			 quiet, r->now.n_runs);
	return true;
}

bool repeat__finish(struct repeat *r)
{
	bool good = (!r->opts->baseline && !r->opts->against) || compare(r);

	return (!r->opts->save_baseline || save(r)) && good;
}

void repeat__set_thresholds(const struct repeat *r, struct run_rules *rules)
{
	for (size_t i = 0; i < rules->n_own; i++) {
		struct when *when = &rules->rs->rules[i].when;

		if (when->threshold)
			when->threshold = comparison__threshold(&r->comparison, &r->before, i,
								when->threshold);
	}
}

int repeat__check_rules(const struct repeat *r, const struct run_rules *rules, struct err *err)
{
	struct series now;
	int code = series__describe(r->opts->command, r->opts, rules, &now);

	if (code)
		err_set(err, code, "out of memory");
	else if ((code = series__check_same(&r->now, &now, err)))
		err_prefix(err, code, "the rules file has changed between two runs: ");
	series__free(&now);
	return code;
}

void repeat__free(struct repeat *r)
{
	machine__free(r->machine);
	series__free(&r->before);
	series__free(&r->now);
	comparison__free(&r->comparison);
	*r = (struct repeat){ 0 };
}
