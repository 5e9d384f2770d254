// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect/tracepoint_bind.h"
#include "detect/tracepoint_info.h"
#include "rules/text.h"

/* What BTF says of the value that @arg names. */
static int find_value(const struct rule_conf *rule, const struct rule_arg *arg,
		      const struct btf_trace *trace, struct diags *d, struct btf_value *ret)
{
	const char *path = tracepoint_info__path(rule->when.target, arg->name);
	struct err err = { 0 };
	struct span bad;
	int code = btf_trace__value(trace, path, ret, &bad, &err);

	if (!code || code == -ENOMEM)
		return code;
	if (path == arg->name)
		bad.off += arg->at.off;
	else
		bad = arg->at;
	diags__error(d, rule->src, bad, "'%s' of %s: %s", arg->name, rule->when.target, err.msg);
	return -EINVAL;
}

static int bind_arg(struct rule_conf *rule, struct rule_arg *arg, const struct btf_trace *trace,
		    struct diags *d)
{
	struct btf_value value;
	struct expr_field_desc desc;
	int err = find_value(rule, arg, trace, d, &value);

	if (err)
		return err;
	desc = (struct expr_field_desc){
		.name = arg->name,
		.field = FRBPF_FIELD_ARG + arg->slot,
		.type = value.type,
		.min = value.min,
		.max = value.max,
		.of_event = true,
		.symbols = tracepoint_info__symbols(rule->when.target, arg->name) ?: value.symbols,
	};
	err = expr__bind(&rule->expr, arg->slot, &desc, rule->src, d);
	if (!err) {
		arg->bound = true;
		arg->type = value.type;
		arg->symbols = tracepoint_info__symbols(rule->when.target, arg->name);
	}
	btf_value__free(&value);
	return err;
}

static int unknown_tracepoint(const struct rule_conf *rule, struct diags *d)
{
	const char *name = tracepoint_info__name(rule->when.target), *nearest;
	char **names;

	if (btf_trace__list(&names))
		return diags__error(
			d, rule->src, rule->when_span,
			"this kernel does not describe its types (no BTF): rules need it");
	nearest = nearest_word(name, strlen(name), (const char *const *)names);
	diags__error(d, rule->src, rule->when_span,
		     "this kernel has no tracepoint '%s'" DID_YOU_MEAN, rule->when.target,
		     SUGGEST(nearest));
	for (char **n = names; *n; n++)
		free(*n);
	free(names);
	return -EINVAL;
}

static bool is_bound(const struct rule_conf *rule)
{
	for (uint32_t i = 0; i < rule->args.n; i++) {
		if (!rule->args.v[i].bound)
			return false;
	}
	return rule->args.n;
}

static int bind_rule(struct rule_conf *rule, struct diags *d)
{
	struct btf_trace *trace;
	int err = btf_trace__find(tracepoint_info__name(rule->when.target), &trace), one;

	if (err == -ENOENT || err == -EOPNOTSUPP)
		return unknown_tracepoint(rule, d);
	if (err)
		return err;
	for (uint32_t i = 0; i < rule->args.n && err != -ENOMEM; i++) {
		one = rule->args.v[i].bound ? 0 : bind_arg(rule, &rule->args.v[i], trace, d);
		err = err ?: one;
	}
	btf_trace__free(trace);
	return err;
}

/* The slot in which a rule on the same events has @name, or a free one. */
static int find_slot(const struct ruleset *rs, const struct rule_conf *rule, const char *name)
{
	uint32_t taken = 0;

	for (size_t i = 0; i < rs->n_rules; i++) {
		const struct rule_conf *r = &rs->rules[i];

		if (!when__same_events(&r->when, &rule->when))
			continue;
		for (uint32_t k = 0; k < r->args.n; k++) {
			if (!strcmp(r->args.v[k].name, name))
				return r->args.v[k].slot;
			taken |= 1U << r->args.v[k].slot;
		}
	}
	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (!(taken >> i & 1))
			return i;
	}
	return -ENOSPC;
}

/* Have it extracted for what dumps tell, too. Where there is no room, they do not. */
static int show(const struct ruleset *rs, struct rule_conf *rule, const char *name)
{
	int slot = find_slot(rs, rule, name), i;
	uint32_t n = rule->args.n;

	if (slot < 0)
		return 0;
	i = rule_args__add(&rule->args, name, strlen(name), rule->when_span);
	if (i < 0)
		return i == -ENOSPC ? 0 : i;
	if (rule->args.n > n)
		rule->args.v[i].slot = slot;
	return 0;
}

int tracepoint_bind__rule(const struct ruleset *rs, struct rule_conf *rule, struct diags *d)
{
	const char *name;
	int err = 0;

	if (is_bound(rule))
		return 0;
	for (size_t k = 0; !err && (name = tracepoint_info__shown(rule->when.target, k)); k++)
		err = show(rs, rule, name);
	return err ?: bind_rule(rule, d);
}
