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
#include "rules/text.h"

static int unknown_tracepoint(const struct rule_conf *rule, struct tracefs *tracefs,
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
		return unknown_tracepoint(rule, tracefs, d);
	if (code)
		return diags__error(d, rule->src, rule->when_span, "%s", err.msg);
	tracepoint__free(tp);
	return 0;
}

/* Check arguments that `if` uses: those that a static probe lacks would always be 0. */
static int check_probe_args(const struct rule_conf *rule, struct diags *d)
{
	struct probe_target *t;
	uint32_t n = 0, wanted = 0;
	struct err err;

	for (uint32_t i = 0; i < rule->expr.n_nodes; i++) {
		uint32_t field = rule->expr.nodes[i].field;

		if (field >= FRBPF_FIELD_ARG && field - FRBPF_FIELD_ARG + 1 > wanted)
			wanted = field - FRBPF_FIELD_ARG + 1;
	}
	if (!wanted || probe_target__find(FRBPF_SOURCE_USDT, rule->when.target, &t, &err))
		return 0;
	for (uint32_t i = 0; i < t->n_places; i++)
		n = t->places[i].found.n_args > n ? t->places[i].found.n_args : n;
	probe_target__free(t);
	if (wanted <= n)
		return 0;
	return diags__error(d, rule->src, rule->when_span,
			    "'if' asks for arg%" PRIu32 ", and this probe has %" PRIu32
			    " argument%s%s",
			    wanted - 1, n, n == 1 ? "" : "s", n ? ", the first is arg0" : "");
}

/* Does the target of `when` exist? Reported once for rules on the same events. */
static int check_target(const struct ruleset *rs, const struct rule_conf *rule, struct diags *d)
{
	struct err err = { 0 };
	int r;

	if (rule->when.source == FRBPF_SOURCE_USDT && check_probe_args(rule, d))
		return -EINVAL;
	for (const struct rule_conf *other = rs->rules; other < rule; other++) {
		if (when__same_events(&other->when, &rule->when))
			return 0;
	}
	r = detectors__check(&rule->when, &err);
	if (r == -EACCES && geteuid()) {
		diags__warn(d, rule->src, rule->when_span, "not checked without root: %s", err.msg);
		return 0;
	}
	return r ? diags__error(d, rule->src, rule->when_span, "%s", err.msg) : 0;
}

static int bind_rule(struct ruleset *rs, struct rule_conf *rule, struct tracefs *tracefs,
		     bool partly, struct diags *d)
{
	if (!rule->id)
		return 0; /* it has an error, which was reported */
	if (rule->when.source == FRBPF_SOURCE_SPAN)
		return span_ends__bind(rule, d);
	if (rule->when.source != FRBPF_SOURCE_TRACEPOINT)
		return check_target(rs, rule, d);
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
