// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/nearest_word.h"
#include "detect/tracepoint/btf_path.h"
#include "detect/tracepoint/fields_bind.h"
#include "detect/tracepoint/tracepoint_bind.h"
#include "detect/tracepoint/tracepoint_info.h"
#include "rules/constants.h"
#include "rules/target.h"
#include "rules/text.h"

/* Find the value that @arg names, by BTF. */
static int find_value(const struct rule_conf *rule, const struct rule_arg *arg,
		      const struct btf_trace *trace, struct diags *d, struct btf_value *ret)
{
	const char *path = tracepoint_info__path(rule->when.target, arg->name);
	struct err err = { 0 };
	struct span bad;
	int code = btf_trace__value(trace, path, path != arg->name ? BTF_PATH_OWN : BTF_PATH_RULE,
				    ret, &bad, &err);

	if (!code || code == -ENOMEM)
		return code;
	if (path == arg->name)
		bad.off += arg->at.off;
	else
		bad = arg->at;
	diags__error(d, rule->src, bad, "'%s' of %s: %s", arg->name, rule->when.target, err.msg);
	return -EINVAL;
}

/* Is the argument compared with the name of a constant, although its type has none? */
static bool is_named(const struct rule_conf *rule, const struct rule_arg *arg,
		     const struct btf_trace *trace)
{
	struct btf_value value;
	struct span bad;
	bool number;

	if (constant__of_tracepoint(rule->when.target, arg->name) ||
	    btf_trace__value(trace, arg->name, BTF_PATH_RULE, &value, &bad, NULL))
		return false;
	number = value.type == EXPR_NUMBER && !value.symbols;
	btf_value__free(&value);
	for (uint32_t i = 0; number && i < rule->expr.n_nodes; i++) {
		const struct frbpf_node *n = &rule->expr.nodes[i];

		if (n->field == FRBPF_FIELD_ARG + arg->slot &&
		    (isalpha((unsigned char)rule->expr.strings[n->val[0]][0]) ||
		     rule->expr.strings[n->val[0]][0] == '_'))
			return true;
	}
	return false;
}

/*
 * If the rule compares @arg with the name of a constant, get the constants of the format's field
 * named @arg. They are owned by *ret. NULL: there are none.
 */
static const struct constant *names_of_field(const struct rule_conf *rule,
					     const struct rule_arg *arg,
					     const struct btf_trace *trace,
					     struct event_format **ret)
{
	const struct event_field *field;

	if (!is_named(rule, arg, trace) || event_format__read(rule->when.target, ret, NULL))
		return NULL;
	field = event_format__find(*ret, arg->name, strlen(arg->name));
	return field ? field->symbols : NULL;
}

static int bind_tracepoint_arg(struct rule_conf *rule, struct rule_arg *arg,
			       const struct btf_trace *trace, struct diags *d)
{
	struct event_format *format = NULL;
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
		.symbols = constant__of_tracepoint(rule->when.target, arg->name) ?: value.symbols,
		.others = names_of_field(rule, arg, trace, &format),
	};
	err = expr__bind(&rule->expr, arg->slot, &desc, rule->src, d);
	if (!err) {
		arg->bound = true;
		arg->type = value.type;
		arg->symbols = constant__of_tracepoint(rule->when.target, arg->name);
	}
	btf_value__free(&value);
	event_format__free(format);
	return err;
}

int tracepoint_bind__unknown(const struct rule_conf *rule, const char *name, char **names,
			     struct diags *d)
{
	const char *nearest = nearest_word(name, strlen(name), (const char *const *)names);
	int system = strcspn(rule->when.target, ":");

	diags__error(d, rule->src, rule->when_span,
		     "this kernel has no tracepoint '%s'" DID_YOU_MEAN "%s%.*s%s",
		     rule->when.target, SUGGEST(nearest), nearest ? "" : ": `frbpf events '",
		     nearest ? 0 : system, rule->when.target, nearest ? "" : ":*'` lists them");
	for (char **n = names; *n; n++)
		free(*n);
	free(names);
	return -EINVAL;
}

static int unknown_btf_tracepoint(const struct rule_conf *rule, struct diags *d)
{
	char **names;

	if (btf_trace__list(&names))
		return diags__error(d, rule->src, rule->when_span,
				    "this kernel has no type information (BTF): rules need it");
	return tracepoint_bind__unknown(rule, tracepoint_info__name(rule->when.target), names, d);
}

/* Warn about an unknown tracepoint: those of modules are visible to root only. */
static void warn_unknown(const struct rule_conf *rule, struct diags *d)
{
	const char *name = tracepoint_info__name(rule->when.target), *nearest;
	char **names;

	if (btf_trace__list(&names))
		return;
	nearest = nearest_word(name, strlen(name), (const char *const *)names);
	diags__warn(
		d, rule->src, rule->when_span,
		"not checked without root: the kernel itself has no tracepoint '%s'" DID_YOU_MEAN
		", one of its modules may",
		name, SUGGEST(nearest));
	for (char **n = names; *n; n++)
		free(*n);
	free(names);
}

static bool is_bound(const struct rule_conf *rule)
{
	for (uint32_t i = 0; i < rule->args.n; i++) {
		if (!rule->args.v[i].bound)
			return false;
	}
	return rule->args.n;
}

/*
 * Also extract a value for dumps to show. It is left out if this kernel does not have it, or there
 * is no room.
 */
static int show_arg(const struct ruleset *rs, struct rule_conf *rule, const struct btf_trace *trace,
		    const char *name)
{
	const char *path = tracepoint_info__path(rule->when.target, name);
	struct btf_value value;
	struct span bad;
	int i;

	if (btf_trace__value(trace, path, path != name ? BTF_PATH_OWN : BTF_PATH_RULE, &value, &bad,
			     NULL))
		return 0;
	btf_value__free(&value);
	i = arg_slots__add(rs, rule, name);
	return i == -ENOMEM ? i : 0;
}

bool tracepoint_bind__left_out(const struct rule_conf *rule)
{
	return rule->when.source == FRBPF_SOURCE_TRACEPOINT && rule->args.n && !is_bound(rule);
}

/* Bind a rule in which all names are arguments, or paths from them. */
static int bind_to_args(const struct ruleset *rs, struct rule_conf *rule,
			const struct btf_trace *trace, struct diags *d)
{
	const char *name;
	int err = 0;

	for (size_t k = 0; !err && (name = tracepoint_info__shown(rule->when.target, k)); k++)
		err = show_arg(rs, rule, trace, name);
	for (uint32_t i = 0; i < rule->args.n && err != -ENOMEM; i++) {
		int one = rule->args.v[i].bound
				  ? 0
				  : bind_tracepoint_arg(rule, &rule->args.v[i], trace, d);

		err = err ?: one;
	}
	return err;
}

/* The first name that is neither an argument nor a path from one, or NULL. */
static const struct rule_arg *find_non_argument(const struct rule_conf *rule,
						const struct btf_trace *trace)
{
	for (uint32_t i = 0; i < rule->args.n; i++) {
		const struct rule_arg *arg = &rule->args.v[i];
		const char *path = tracepoint_info__path(rule->when.target, arg->name);

		if (!trace || btf_trace__arg(trace, path, strcspn(path, ".[")) < 0)
			return arg;
	}
	return NULL;
}

/*
 * Must the rule be bound to the fields of the format, since only the format has constants that it
 * uses, such as __GFP_ZERO? Only if all of its names are also fields.
 */
static bool needs_names(const struct rule_conf *rule, const struct btf_trace *trace, bool partly)
{
	struct event_format *format = NULL;
	bool named = false, fields = true;
	int err;

	for (uint32_t i = 0; i < rule->args.n; i++)
		named |= is_named(rule, &rule->args.v[i], trace);
	if (!named)
		return false;
	err = event_format__read(rule->when.target, &format, NULL);
	if (err) /* tracefs cannot be read; the next reader reports -ENOMEM */
		return partly || err == -ENOMEM;
	for (uint32_t i = 0; i < rule->args.n; i++) {
		const char *name = rule->args.v[i].name;
		const struct event_field *field = event_format__find(format, name, strlen(name));

		fields &= field && (field->symbols || !is_named(rule, &rule->args.v[i], trace));
	}
	event_format__free(format);
	return fields;
}

/* Find a name that can only be a path; NULL: none. */
static const struct rule_arg *find_path_arg(const struct rule_conf *rule)
{
	for (uint32_t i = 0; i < rule->args.n; i++) {
		if (strchr(rule->args.v[i].name, '.'))
			return &rule->args.v[i];
	}
	return NULL;
}

static void list_args(const struct btf_trace *trace, char *buf, size_t size)
{
	size_t len;

	snprintf(buf, size, "%s", trace && btf_trace__n_args(trace) ? "; its arguments are" : "");
	for (uint32_t i = 0; trace && i < btf_trace__n_args(trace); i++) {
		len = strlen(buf);
		snprintf(buf + len, size - len, " %s", btf_trace__arg_name(trace, i));
	}
}

static int bind_to_fields(const struct ruleset *rs, struct rule_conf *rule,
			  const struct btf_trace *trace, bool partly, struct diags *d)
{
	const struct rule_arg *path = find_path_arg(rule);
	struct event_format *format;
	struct err err = { "" };
	char args[256];
	int code = event_format__read(rule->when.target, &format, &err);

	if (code && partly && (code != -ENOENT || trace)) {
		if (!trace)
			warn_unknown(rule, d);
		return 0; /* this cannot be checked without root */
	}
	if (code == -ENOENT)
		return unknown_btf_tracepoint(rule, d);
	if (code)
		return diags__error(d, rule->src, rule->when_span, "%s", err.msg);
	list_args(trace, args, sizeof(args));
	if (path && trace) {
		const struct rule_arg *other = find_non_argument(rule, trace);

		if (other == path || !event_format__find(format, other->name, strlen(other->name)))
			code = diags__error(
				d, rule->src, other->at,
				"'%s' of %s is neither an argument nor a field of its format%s",
				other->name, rule->when.target, args);
		else
			code = diags__error(d, rule->src, other->at,
					    "'%s' is a field of the format and '%s' a path from an "
					    "argument: a rule can use either kind, not both",
					    other->name, path->name);
	} else {
		code = fields_bind__rule(rs, rule, format, args, d);
	}
	event_format__free(format);
	return code;
}

int tracepoint_bind__rule(const struct ruleset *rs, struct rule_conf *rule, bool partly,
			  struct diags *d)
{
	struct btf_trace *trace = NULL;
	int err;

	if (rule->when.source != FRBPF_SOURCE_TRACEPOINT || is_bound(rule))
		return 0;
	err = btf_trace__find(tracepoint_info__name(rule->when.target), &trace);
	if (err == -EOPNOTSUPP)
		return unknown_btf_tracepoint(rule, d);
	if (err == -ENOMEM)
		return err;
	if (!trace || find_non_argument(rule, trace) || needs_names(rule, trace, partly))
		err = bind_to_fields(rs, rule, trace, partly, d);
	else
		err = bind_to_args(rs, rule, trace, d);
	btf_trace__free(trace);
	return err;
}

/* Warn about a pattern on the end of a string of which only the beginning is seen. */
static void warn_short(const struct rule_conf *rule, const struct rule_arg *arg, struct diags *d)
{
	for (uint32_t i = 0; i < rule->expr.n_nodes; i++) {
		const struct frbpf_node *n = &rule->expr.nodes[i];
		const char *pattern;

		if (n->field != FRBPF_FIELD_ARG + arg->slot ||
		    (n->op != FRBPF_OP_GLOB && n->op != FRBPF_OP_NO_GLOB))
			continue;
		pattern = rule->expr.strings[n->val[0]];
		if (!strchr(pattern, '*') || pattern[strlen(pattern) - 1] == '*')
			continue;
		diags__warn(d, rule->src, arg->at,
			    "'%s' is compared up to its first %d bytes: in a longer string, what "
			    "follows the last * of \"%s\" is not found",
			    arg->name, FRBPF_COMM_LEN - 1, pattern);
		return;
	}
}

/* Warn about a condition on a subject that never exists. */
static void warn_nobody(const struct rule_conf *rule, const struct btf_trace *trace,
			struct diags *d)
{
	if (!tracepoint_info__subject(rule->when.target, trace).nobody)
		return;
	for (uint32_t i = 0; i < rule->expr.n_nodes; i++) {
		const struct frbpf_node *n = &rule->expr.nodes[i];

		if (n->flags & FRBPF_NODE_CURRENT || n->field == FRBPF_FIELD_CPU ||
		    n->field >= FRBPF_FIELD_VALUE)
			continue;
		diags__warn(d, rule->src, rule->when_span,
			    "%s has no subject, so its comm, pid and so on are empty: it is hit "
			    "while any task runs; current.comm and so on are those of that task",
			    rule->when.target);
		return;
	}
}

void tracepoint_bind__warn(const struct rule_conf *rule, struct diags *d)
{
	struct btf_trace *trace;

	if (rule->when.source != FRBPF_SOURCE_TRACEPOINT &&
	    rule->when.source != FRBPF_SOURCE_TRACEPOINT_FIELDS)
		return;
	for (uint32_t i = 0; i < rule->args.n; i++) {
		if (rule->when.source == FRBPF_SOURCE_TRACEPOINT && rule->args.v[i].bound &&
		    rule->args.v[i].type == EXPR_STRING)
			warn_short(rule, &rule->args.v[i], d);
	}
	if (btf_trace__find(tracepoint_info__name(rule->when.target), &trace))
		return;
	warn_nobody(rule, trace, d);
	btf_trace__free(trace);
}

/*
 * Describe the filter as if this rule were the only one: the real filter passes what any rule
 * matches.
 */
static char *fields_way(const struct rule_conf *rule)
{
	struct event_format *format;
	char *filter, *text = NULL;
	int err = event_format__read(rule->when.target, &format, NULL);

	if (err)
		return err == -ENOMEM ? NULL : strdup("");
	filter = event_filter__of_rule(rule, format);
	event_format__free(format);
	if (filter && asprintf(&text, "a perf event on each CPU, %s%s%s",
			       *filter ? "filtered by the "
					 "kernel: "
				       : "without a filter: all of its hits are tested one by one",
			       filter, "") < 0)
		text = NULL;
	free(filter);
	return text;
}

static char *span_way(const struct rule_conf *rule)
{
	struct span_target t;
	char *text;

	if (span_target__parse(rule->when.target, &t))
		return strdup("");
	if (asprintf(&text, "BPF programs, raw_tp/%s and raw_tp/%s, read the arguments",
		     tracepoint_info__name(t.start), tracepoint_info__name(t.end)) < 0)
		return NULL;
	return text;
}

char *tracepoint_bind__way(const struct rule_conf *rule)
{
	char *text = NULL;

	if (rule->when.source == FRBPF_SOURCE_TRACEPOINT_FIELDS)
		return fields_way(rule);
	if (rule->when.source == FRBPF_SOURCE_SPAN)
		return span_way(rule);
	if (rule->when.source != FRBPF_SOURCE_TRACEPOINT)
		return strdup("");
	if (asprintf(&text, "a BPF program, raw_tp/%s, reads the arguments",
		     tracepoint_info__name(rule->when.target)) < 0)
		return NULL;
	return text;
}

void tracepoint_bind__programs(const struct rule_conf *rule,
			       void (*fn)(const char *kind, const char *target, void *arg),
			       void *arg)
{
	struct span_target t;

	if (rule->when.source == FRBPF_SOURCE_TRACEPOINT) {
		fn("raw_tp", tracepoint_info__name(rule->when.target), arg);
	} else if (rule->when.source == FRBPF_SOURCE_SPAN &&
		   !span_target__parse(rule->when.target, &t)) {
		fn("raw_tp", tracepoint_info__name(t.start), arg);
		fn("raw_tp", tracepoint_info__name(t.end), arg);
	}
}
