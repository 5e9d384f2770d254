// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "bench/series.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/cpus.h"
#include "common/printable.h"
#include "common/version.h"

#define CPUINFO_MAX (8 << 20)

/* "" if there is none, as on arm64 */
static char *read_cpu_model(void)
{
	struct buf b = { 0 };
	const char *at = NULL;
	char *model;

	if (buf__read_file(&b, "/proc/cpuinfo", CPUINFO_MAX) == 0 && b.data)
		at = strstr(b.data, "model name");
	at = at ? strchr(at, ':') : NULL;
	at = at ? at + 1 + strspn(at + 1, " \t") : "";
	model = strndup(at, strcspn(at, "\n"));
	buf__free(&b);
	return model;
}

/* A copy, escaped as in a baseline file, so that it can be compared with a text from one. */
static char *plain_text(const char *s)
{
	struct buf b = { 0 };

	if (buf__add_str(&b, "") || escape__plain(&b, s))
		buf__free(&b);
	return b.data;
}

static int describe_machine(struct series *s)
{
	struct utsname u = { 0 };
	size_t n = 0;
	int *cpus;

	uname(&u);
	s->host = plain_text(u.nodename);
	s->kernel = strdup(u.release);
	s->arch = strdup(u.machine);
	s->cpu = read_cpu_model();
	if (cpus__online(&cpus, &n) == 0)
		free(cpus);
	s->cpus = n;
	return s->host && s->kernel && s->arch && s->cpu ? 0 : -ENOMEM;
}

static int describe_command(char *const *command, struct series *s)
{
	struct buf b = { 0 };
	int err = buf__add_str(&b, "");

	for (size_t i = 0; command && command[i] && !err; i++) {
		err = buf__add_str(&b, i ? " " : "");
		err = err ?: escape__shell(&b, command[i]);
	}
	if (err)
		buf__free(&b);
	s->command = b.data;
	return err;
}

static int describe_series_rules(const struct run_rules *rules, struct series *s)
{
	const struct ruleset *rs = rules->rs;

	s->rules = calloc(rules->n_own ?: 1, sizeof(*s->rules));
	s->sessions = calloc(rs->n_sessions ?: 1, sizeof(*s->sessions));
	if (!s->rules || !s->sessions)
		return -ENOMEM;
	for (size_t i = 0; i < rules->n_own; i++) {
		const struct rule_conf *from = &rs->rules[i];
		struct series_rule *to = &s->rules[s->n_rules++];

		to->name = plain_text(from->name);
		to->when = plain_text(from->when_text);
		to->condition = from->if_text ? plain_text(from->if_text) : NULL;
		if (!to->name || !to->when || (from->if_text && !to->condition))
			return -ENOMEM;
	}
	for (size_t i = 0; i < rs->n_sessions; i++) {
		struct series_session *to = &s->sessions[s->n_sessions++];

		to->name = plain_text(rs->sessions[i].name);
		to->run = plain_text(rs->sessions[i].run);
		if (!to->name || !to->run)
			return -ENOMEM;
	}
	return 0;
}

int series__describe(char *const *command, const struct run_opts *opts,
		     const struct run_rules *rules, struct series *ret)
{
	int err;

	*ret = (struct series){ .version = strdup(frbpf_version),
				.created = clock_ns(CLOCK_REALTIME),
				.matches_only = opts->matches_only };
	err = ret->version ? describe_machine(ret) : -ENOMEM;
	err = err ?: describe_command(command, ret);
	return err ?: describe_series_rules(rules, ret);
}

struct run_sample *series__add(struct series *s)
{
	struct run_sample *v = reallocarray(s->runs, s->n_runs + 1, sizeof(*v));
	struct histogram *rules = calloc(s->n_rules ?: 1, sizeof(*rules));

	if (v)
		s->runs = v;
	if (!v || !rules) {
		free(rules);
		return NULL;
	}
	v[s->n_runs] = (struct run_sample){ .rules = rules };
	return &v[s->n_runs++];
}

static bool same_series_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static int check_series_rule(const struct series_rule *a, const struct series_rule *b,
			     struct err *err)
{
	if (!same_series_text(a->name, b->name))
		return err_set(err, -EINVAL, "of other rules: it has '%.64s', now it is '%.64s'",
			       a->name, b->name);
	if (!same_series_text(a->when, b->when) || !same_series_text(a->condition, b->condition))
		return err_set(err, -EINVAL,
			       "of other rules: '%.64s' was `%.100s%s%.100s` and is "
			       "`%.100s%s%.100s`",
			       a->name, a->when, a->condition ? " if " : "", a->condition ?: "",
			       b->when, b->condition ? " if " : "", b->condition ?: "");
	return 0;
}

int series__check_same(const struct series *a, const struct series *b, struct err *err)
{
	int code = 0;

	if (a->n_rules != b->n_rules)
		return err_set(err, -EINVAL, "of other rules: it has %zu, now there are %zu",
			       a->n_rules, b->n_rules);
	for (size_t i = 0; i < a->n_rules && !code; i++)
		code = check_series_rule(&a->rules[i], &b->rules[i], err);
	if (code)
		return code;
	if (a->matches_only != b->matches_only)
		return err_set(err, -EINVAL, "recorded %s --matches-only",
			       a->matches_only ? "with" : "without");
	for (size_t i = 0; i < a->n_sessions || i < b->n_sessions; i++) {
		if (i < a->n_sessions && i < b->n_sessions &&
		    same_series_text(a->sessions[i].name, b->sessions[i].name) &&
		    same_series_text(a->sessions[i].run, b->sessions[i].run))
			continue;
		return err_set(err, -EINVAL,
			       "of other sessions: recording costs another time: `%.200s` was, "
			       "`%.200s` is",
			       i < a->n_sessions ? a->sessions[i].run : "none",
			       i < b->n_sessions ? b->sessions[i].run : "none");
	}
	return 0;
}

void series__compare_machines(const struct series *a, const struct series *b, char ret[static 256])
{
	ret[0] = '\0';
	if (!same_series_text(a->arch, b->arch) || !same_series_text(a->cpu, b->cpu))
		snprintf(ret, 256, "another CPU: %.80s (%.16s), the baseline is of %.80s (%.16s)",
			 b->cpu, b->arch, a->cpu, a->arch);
	else if (a->cpus != b->cpus)
		snprintf(ret, 256, "%u CPUs, the baseline is of %u", b->cpus, a->cpus);
}

static double share_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / whole : 0;
}

/* 100 % turns both limits off: a hypervisor may take any share of a run of a few milliseconds. */
static bool machine_use__is_shared(const struct machine_use *m, double others_limit)
{
	return others_limit < 1 &&
	       (share_of(m->others, m->capacity) > others_limit ||
		share_of(m->steal, m->capacity) > SERIES_STEAL_PART * others_limit);
}

bool run_sample__is_quiet(const struct run_sample *run, enum series_metric metric,
			  double others_limit)
{
	const struct machine_use *m = &run->machine;

	if (machine_use__is_shared(m, others_limit) || m->hot)
		return false;
	return metric != SERIES_WALL || share_of(m->throttled, run->wall) <= SERIES_THROTTLED_LIMIT;
}

size_t series__quiet_runs(const struct series *s, enum series_metric metric, double others_limit)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_runs; i++)
		n += run_sample__is_quiet(&s->runs[i], metric, others_limit);
	return n;
}

size_t series__quiet_pairs(const struct series *a, const struct series *b,
			   enum series_metric metric, double others_limit)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n_runs && i < b->n_runs; i++)
		n += run_sample__is_quiet(&a->runs[i], metric, others_limit) &&
		     run_sample__is_quiet(&b->runs[i], metric, others_limit);
	return n;
}

void series__free(struct series *s)
{
	for (size_t i = 0; i < s->n_rules; i++) {
		free(s->rules[i].name);
		free(s->rules[i].when);
		free(s->rules[i].condition);
	}
	for (size_t i = 0; i < s->n_sessions; i++) {
		free(s->sessions[i].name);
		free(s->sessions[i].run);
	}
	for (size_t i = 0; i < s->n_runs; i++)
		free(s->runs[i].rules);
	free(s->rules);
	free(s->sessions);
	free(s->runs);
	free(s->version);
	free(s->host);
	free(s->kernel);
	free(s->arch);
	free(s->cpu);
	free(s->command);
	*s = (struct series){ 0 };
}
