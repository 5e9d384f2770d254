// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/evidence.h"
#include "daemon/rule_binding.h"
#include "detect/detectors.h"
#include "detect/probe/probe_target.h"
#include "detect/tracepoint/span_ends.h"
#include "detect/tracepoint/tracepoint_bind.h"
#include "rules/target.h"
#include "rules/text.h"

static int unknown_tracefs_tracepoint(const struct rule_conf *rule, struct tracefs *tracefs,
				      struct diags *d)
{
	char **names;

	if (tracefs__list(tracefs, &names))
		return diags__error(d, rule->src, rule->when_span,
				    "this kernel has no tracepoint '%s'", rule->when.target);
	return tracepoint_bind__unknown(rule, rule->when.target, names, d);
}

/* Does tracefs have the tracepoint, under this system? */
static int check_tracepoint(const struct rule_conf *rule, struct tracefs *tracefs, struct diags *d)
{
	const char *colon = strchr(rule->when.target, ':');
	struct tracepoint *tp;
	struct err err = { 0 };
	char system[256];
	int code;

	snprintf(system, sizeof(system), "%.*s", (int)(colon - rule->when.target),
		 rule->when.target);
	code = tracefs__tracepoint(tracefs, system, colon + 1, &err, &tp);
	if (code == -ENOENT)
		return unknown_tracefs_tracepoint(rule, tracefs, d);
	if (code)
		return diags__error(d, rule->src, rule->when_span, "%s", err.msg);
	tracepoint__free(tp);
	return 0;
}

/* The largest number of arguments at a place of a static probe; -1: unknown, or a function. */
static int count_probe_args(enum frbpf_source source, const char *target)
{
	struct probe_target *t;
	struct err err;
	int n = 0;

	if (source != FRBPF_SOURCE_USDT || probe_target__find(source, target, &t, &err))
		return -1;
	for (uint32_t i = 0; i < t->n_places; i++)
		n = (int)t->places[i].found.n_args > n ? (int)t->places[i].found.n_args : n;
	probe_target__free(t);
	return n;
}

/* Reject an argument that a static probe with @n arguments lacks: it would always be 0. */
static int check_probe_arg(const struct rule_conf *rule, struct span at, int arg, int n,
			   struct diags *d)
{
	if (n < 0 || arg < n)
		return 0;
	return diags__error(d, rule->src, at, "'if' uses arg%d, but this probe has %d argument%s%s",
			    arg, n, n == 1 ? "" : "s", n ? ", the first is arg0" : "");
}

static int check_probe_args(const struct rule_conf *rule, struct diags *d)
{
	int wanted = -1;

	for (uint32_t i = 0; i < rule->expr.n_nodes; i++) {
		int arg = (int)rule->expr.nodes[i].field - FRBPF_FIELD_ARG;

		wanted = arg > wanted ? arg : wanted;
	}
	if (wanted < 0)
		return 0;
	return check_probe_arg(rule, rule->when_span, wanted,
			       count_probe_args(FRBPF_SOURCE_USDT, rule->when.target), d);
}

static int check_span_args(const struct rule_conf *rule, struct diags *d)
{
	struct probe_span_target t;
	int err = rule->args.n ? probe_span_target__parse(rule->when.target, &t) : 0;

	if (err || !rule->args.n)
		return err;
	for (uint32_t i = 0; i < rule->args.n && !err; i++) {
		const struct rule_arg *arg = &rule->args.v[i];
		bool start;
		int n = probe_span__value(arg->name, &start);
		const struct probe_end *end = &t.end[!start];

		err = check_probe_arg(rule, arg->at, n, count_probe_args(end->source, end->target),
				      d);
	}
	probe_span_target__free(&t);
	return err;
}

/* Does the target of `when` exist? Reported once for rules on the same events. */
static int check_rule_target(const struct ruleset *rs, const struct rule_conf *rule,
			     struct diags *d)
{
	struct err err = { 0 };
	int code;

	if (rule->when.source == FRBPF_SOURCE_USDT && check_probe_args(rule, d))
		return -EINVAL;
	if (rule->when.source == FRBPF_SOURCE_PROBE_SPAN && check_span_args(rule, d))
		return -EINVAL;
	for (const struct rule_conf *other = rs->rules; other < rule; other++) {
		if (when__same_events(&other->when, &rule->when))
			return 0;
	}
	code = detectors__check(&rule->when, &err);
	if (code == -EACCES && geteuid()) {
		diags__warn(d, rule->src, rule->when_span, "not checked without root: %s", err.msg);
		return 0;
	}
	return code ? diags__error(d, rule->src, rule->when_span, "%s", err.msg) : 0;
}

static int bind_rule(struct ruleset *rs, struct rule_conf *rule, struct tracefs *tracefs,
		     bool partly, struct diags *d)
{
	if (!rule->id)
		return 0; /* it has an error, which was reported */
	if (rule->when.source == FRBPF_SOURCE_SPAN)
		return span_ends__bind(rule, d);
	if (rule->when.source != FRBPF_SOURCE_TRACEPOINT)
		return check_rule_target(rs, rule, d);
	if (tracefs && check_tracepoint(rule, tracefs, d))
		return -EINVAL;
	return tracepoint_bind__rule(rs, rule, partly, d);
}

int rule_binding__bind(struct ruleset *rs, struct tracefs *tracefs, bool partly, struct diags *d)
{
	int err = evidence__expand(rs, tracefs);

	for (size_t i = 0; i < rs->n_rules && err != -ENOMEM; i++)
		err = bind_rule(rs, &rs->rules[i], tracefs, partly, d) ?: err;
	return err;
}
