// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "daemon/evidence.h"
#include "daemon/lint.h"
#include "daemon/rule_binding.h"
#include "rules/rules_files.h"
#include "rules/text.h"
#include "run/run_rules.h"

#define COMMAND_LINE "command line"

/* As in configs/: stacks of running tasks, and of tasks that are switched out or wake others */
#define SESSION_CPU                                                                                \
	"[session-cpu]\n"                                                                          \
	"run = -e cycles -F 99 -g -m 512K --overwrite --switch-output\n"
static const char default_sessions[] =
	SESSION_CPU "[session-sched]\n"
		    "run = -e sched:sched_switch -e sched:sched_waking -g -m 2M --overwrite "
		    "--switch-output\n";
/*
 * For -a: all that `frbpf why` needs. The events of one command would not show who woke it, or what
 * a device did.
 */
static const char default_sessions_all[] = SESSION_CPU "[session-evidence]\n"
						       "run = evidence\n";
/*
 * Without tracefs: record when tasks were switched out and in again, without stacks. The event
 * context-switches has stacks, but it spoils other recordings of that event: see frbpf-rules(5).
 */
static const char default_sessions_plain[] =
	SESSION_CPU "[session-sched]\n"
		    "run = -e dummy --switch-events -m 512K --overwrite --switch-output\n";

/* Shared by all steps */
struct maker {
	const struct run_opts *opts;
	struct tracefs *tracefs; /* NULL: there is none */
	bool partly;		 /* only check the rules */
	struct diags *d;
};

static int check_lines(const struct run_opts *opts, struct diags *d)
{
	bool good = true;

	for (size_t i = 0; i < opts->n_sessions; i++)
		good &= text__is_one_line(opts->sessions[i]);
	for (size_t i = 0; i < opts->n_whens; i++) {
		const struct run_when *w = &opts->whens[i];

		good &= text__is_one_line(w->when) &&
			(!w->condition || text__is_one_line(w->condition));
	}
	if (good)
		return 0;
	return diags__error(d, NULL, (struct span){ 0 },
			    COMMAND_LINE ": --session, --when and --if take one line each");
}

static int add_sessions(const struct maker *m, struct buf *text)
{
	const struct run_opts *opts = m->opts;
	int err = 0;

	if (!opts->n_sessions)
		err = buf__add_str(text, !m->tracefs		  ? default_sessions_plain
					 : opts->scope == RUN_ALL ? default_sessions_all
								  : default_sessions);

	for (size_t i = 0; i < opts->n_sessions && !err; i++) {
		/* both are implied here */
		const char *more = " --overwrite --switch-output";

		if (strstr(opts->sessions[i], "--overwrite"))
			more = "";
		err = buf__printf(text, "[session-run-%zu]\nrun = %s%s\n", i + 1, opts->sessions[i],
				  more);
	}
	return err;
}

/* Find the first of PREFIX-1, PREFIX-2 and so on that the file does not use. */
static void free_name(const struct ruleset *rs, const char *prefix, size_t *number,
		      char ret[static RULESET_NAME_MAX + 1])
{
	do
		snprintf(ret, RULESET_NAME_MAX + 1, "%s-%zu", prefix, ++*number);
	while (ruleset__has_rule(rs, ret));
}

/* Add sections for the rules of --when, with names that are not in @rs (may be NULL). */
static int add_whens(const struct run_opts *opts, const struct ruleset *rs, struct buf *text)
{
	char name[RULESET_NAME_MAX + 1];
	size_t number = 0;
	int err = 0;

	for (size_t i = 0; i < opts->n_whens && !err; i++) {
		const struct run_when *w = &opts->whens[i];

		free_name(rs, "when", &number, name);
		err = buf__printf(text, "[rule-%s]\nwhen = %s\n", name, w->when);
		if (!err && w->condition)
			err = buf__printf(text, "if = %s\n", w->condition);
	}
	return err;
}

static int parse_text(const struct maker *m, struct source_text *src, struct ruleset **ret)
{
	int err = ruleset__parse(src, m->d, ret);

	if (!err)
		(*ret)->of_tasks = m->opts->scope != RUN_ALL;
	return err;
}

/* Parse only rules and sessions of the command line, so that errors refer to it. */
static int parse_command_line(const struct maker *m, struct ruleset **ret)
{
	struct buf text = { 0 };
	struct source_text *src;
	int err = check_lines(m->opts, m->d);

	err = err ?: add_sessions(m, &text);
	err = err ?: add_whens(m->opts, NULL, &text);
	err = err ?: source_text__make(COMMAND_LINE, text.data ? text.data : "", &src);
	buf__free(&text);
	return err ?: parse_text(m, src, ret);
}

/*
 * Parse the file, followed by the sessions of --session. If neither has sessions, default ones are
 * added.
 */
static int parse_file(const struct maker *m, struct ruleset **ret)
{
	const struct run_opts *opts = m->opts;
	struct diags ignored = { 0 };
	struct source_text *src = NULL, *again = NULL;
	struct ruleset *rs = NULL;
	struct buf text = { 0 };
	bool has_sessions;
	size_t errors = m->d->n_errors;
	uint32_t off;
	int err = rules_files__read(opts->rules, m->d, &src);

	if (err)
		return err;
	if (m->d->n_errors > errors) { /* errors in its includes, which point into src */
		diags__keep(m->d, src);
		return -EINVAL;
	}
	err = source_text__copy(src, &again);
	err = err ?: ruleset__parse_damaged(TAKE_PTR(src), &ignored, &rs);
	has_sessions = rs && rs->n_sessions && !rs->default_sessions;
	if (rs)
		ruleset__discard(rs, &ignored);
	diags__free(&ignored);
	if (!err && (opts->n_sessions || !has_sessions)) {
		err = add_sessions(m, &text);
		err = err ?: source_text__append(again, COMMAND_LINE, text.data, text.len, &off);
		if (!err)
			again->pieces[again->n_pieces - 1].for_all = true;
	}
	buf__free(&text);
	err = err ?: parse_text(m, TAKE_PTR(again), ret);
	source_text__free(src);
	source_text__free(again);
	return err;
}

static int extend_rules(struct ruleset *rs, const char *name, struct buf *text, struct diags *d)
{
	struct source_text *src;
	int err;

	if (!text->len)
		return 0;
	err = source_text__make(name, text->data, &src);
	return err ?: ruleset__extend(rs, src, d);
}

static int plan_rules(const struct maker *m, const struct ruleset *rs, struct plan **ret)
{
	return m->partly ? plan__make_partly(rs, m->d, ret) : plan__make(rs, m->tracefs, m->d, ret);
}

/* Check the lines of --session first, so that their errors do not refer to the rules file. */
static int check_sessions(const struct maker *m, struct ruleset *rs)
{
	struct plan *p = NULL;
	int err;

	if (!m->opts->n_sessions)
		return 0;
	err = evidence__expand(rs, m->tracefs) ?: plan_rules(m, rs, &p);
	plan__free(p);
	return err;
}

static int parse_rules(const struct maker *m, struct ruleset **ret)
{
	struct ruleset *rs;
	struct buf text = { 0 };
	int err = parse_command_line(m, &rs);

	if (err)
		return err;
	if (!m->opts->rules) {
		*ret = rs;
		return 0;
	}
	err = check_sessions(m, rs);
	ruleset__discard(rs, m->d);
	if (err)
		return err;
	err = parse_file(m, &rs);
	if (err)
		return err;
	err = add_whens(m->opts, rs, &text);
	err = err ?: extend_rules(rs, COMMAND_LINE, &text, m->d);
	buf__free(&text);
	if (err)
		ruleset__discard(rs, m->d);
	else
		*ret = rs;
	return err;
}

/* Add a rule with the same source and condition, but no threshold. */
static int add_values(struct run_rules *r, size_t i, size_t *number, struct diags *d)
{
	const struct rule_conf *rule = &r->rs->rules[i];
	char name[RULESET_NAME_MAX + 1];
	struct buf text = { 0 };
	int err;

	if (!when__has_values(&rule->when) || when__source(rule->when.source)->no_begin ||
	    r->rs->n_rules == FRBPF_MAX_SLOTS)
		return 0;
	free_name(r->rs, "values", number, name);
	err = buf__printf(&text, "[rule-%s]\nwhen = %s\ndump = none\ncooldown = 0\n", name,
			  rule->when_text);
	if (!err && rule->if_text)
		err = buf__printf(&text, "if = %s\n", rule->if_text);
	err = err ?: extend_rules(r->rs, "values of a rule", &text, d);
	buf__free(&text);
	if (err)
		return err;
	r->values[i] = r->rs->n_rules - 1;
	when__drop_threshold(&r->rs->rules[r->values[i]].when);
	return 0;
}

static int add_all_values(const struct run_opts *opts, struct run_rules *r, struct diags *d)
{
	size_t number = 0;
	int err = 0;

	r->n_own = r->rs->n_rules;
	r->values = calloc(r->n_own ?: 1, sizeof(*r->values));
	if (!r->values)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_own; i++)
		r->values[i] = SIZE_MAX;
	for (size_t i = 0; i < r->n_own && !err && !opts->matches_only; i++)
		err = add_values(r, i, &number, d);
	return err;
}

static void warn_unused(const struct ruleset *rs, struct diags *d)
{
	for (size_t i = 0; i < rs->n_sessions; i++) {
		if (rs->sessions[i].ring_span.len)
			diags__warn(d, rs->config->src, rs->sessions[i].ring_span,
				    "a run does not measure event rates first: where they are "
				    "unknown, rings have the default size; use -m instead");
	}
}

/* Apply --threshold. */
static int set_thresholds(const struct run_opts *opts, struct ruleset *rs, struct diags *d)
{
	for (size_t i = 0; i < opts->n_thresholds; i++) {
		const struct run_threshold *t = &opts->thresholds[i];
		size_t k = 0;

		while (k < rs->n_rules && strcmp(rs->rules[k].name, t->rule) != 0)
			k++;
		if (k == rs->n_rules ||
		    !(rs->rules[k].when.threshold || rs->rules[k].when.learn.percentile))
			return diags__error(d, NULL, (struct span){ 0 },
					    COMMAND_LINE ": --threshold: no rule '%.64s' with a "
							 "threshold",
					    t->rule);
		when__drop_threshold(&rs->rules[k].when);
		rs->rules[k].when.threshold = t->ns;
	}
	return 0;
}

static int make_run_rules(const struct maker *m, struct run_rules *ret)
{
	struct run_rules r = { 0 };
	int err = parse_rules(m, &r.rs);

	if (err == -ENOMEM)
		diags__error(m->d, NULL, (struct span){ 0 }, "out of memory");
	if (err)
		return err;
	err = rule_binding__bind(r.rs, m->tracefs, false, m->d);
	err = err ?: plan_rules(m, r.rs, &r.plan);
	if (!err) {
		lint__ruleset(r.rs, r.plan, m->d);
		warn_unused(r.rs, m->d);
		err = add_all_values(m->opts, &r, m->d);
		err = err ?: rule_binding__bind(r.rs, m->tracefs, false, m->d);
		err = err ?: set_thresholds(m->opts, r.rs, m->d);
	}
	if (err) {
		ruleset__discard(TAKE_PTR(r.rs), m->d);
		run_rules__free(&r);
		return err;
	}
	*ret = r;
	return 0;
}

int run_rules__make(const struct run_opts *opts, struct tracefs *tracefs, struct diags *d,
		    struct run_rules *ret)
{
	return make_run_rules(&(struct maker){ opts, tracefs, false, d }, ret);
}

int run_rules__check(const struct run_opts *opts, struct diags *d)
{
	struct run_rules r = { 0 };
	int err = make_run_rules(&(struct maker){ opts, NULL, true, d }, &r);

	if (!err)
		ruleset__discard(TAKE_PTR(r.rs), d);
	run_rules__free(&r);
	return err;
}

void run_rules__free(struct run_rules *r)
{
	plan__free(r->plan);
	ruleset__free(r->rs);
	free(r->values);
	*r = (struct run_rules){ 0 };
}
