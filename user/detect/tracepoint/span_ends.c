// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "detect/tracepoint/span_ends.h"
#include "detect/tracepoint/tracepoint_info.h"
#include "rules/constants.h"
#include "rules/text.h"

#define START "start."

int span_ends__open(const char *target, struct span_ends *ret)
{
	int err;

	*ret = (struct span_ends){ .start = NULL };
	err = span_target__parse(target, &ret->target);
	err = err ?: btf_trace__find(tracepoint_info__name(ret->target.start), &ret->start);
	return err ?: btf_trace__find(tracepoint_info__name(ret->target.end), &ret->end);
}

void span_ends__free(struct span_ends *e)
{
	btf_trace__free(e->start);
	btf_trace__free(e->end);
	e->start = e->end = NULL;
}

/* Keys that every hit has: tid, pid, cpu. */
static bool common_span_key(const char *name, struct frbpf_extract *ret)
{
	static const struct {
		const char *name;
		enum frbpf_extract_kind kind;
	} keys[] = {
		{ "tid", FRBPF_EXTRACT_TID },
		{ "pid", FRBPF_EXTRACT_PID },
		{ "cpu", FRBPF_EXTRACT_CPU },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(keys[i].name, name))
			continue;
		*ret = (struct frbpf_extract){ .kind = keys[i].kind };
		return true;
	}
	return false;
}

int span_ends__key(const struct span_ends *e, uint32_t i, bool at_end, struct frbpf_extract *ret,
		   struct err *err)
{
	const char *target = at_end ? e->target.end : e->target.start;
	const char *name = at_end ? e->target.keys[i].end : e->target.keys[i].start;
	struct btf_value value;
	struct span bad;
	int code;

	if (common_span_key(name, ret))
		return 0;
	code = btf_trace__value(at_end ? e->end : e->start, tracepoint_info__path(target, name),
				BTF_PATH_KEY, &value, &bad, err);
	if (code)
		return code;
	*ret = value.where;
	btf_value__free(&value);
	return 0;
}

int span_ends__value(const struct span_ends *e, const char *name, bool *ret_start,
		     struct btf_value *ret, struct span *ret_bad, struct err *err)
{
	bool start = !strncmp(name, START, strlen(START));
	const char *target = start ? e->target.start : e->target.end, *path;
	int code;

	name += start ? strlen(START) : 0;
	path = tracepoint_info__path(target, name);
	code = btf_trace__value(start ? e->start : e->end, path,
				path != name ? BTF_PATH_OWN : BTF_PATH_RULE, ret, ret_bad, err);
	if (code && start)
		ret_bad->off += strlen(START);
	if (!code)
		*ret_start = start;
	return code;
}

/* ---- rules ---- */

/* The position of @word in the `when` of the rule; the whole `when` if it is not found. */
static struct span find_word_in_when(const struct rule_conf *rule, const char *word)
{
	const char *text = rule->src->text + rule->when_span.off, *p = text;
	const char *last = text + rule->when_span.len - strlen(word);

	for (; p <= last; p++) {
		bool begins = p == text || strchr(" \t,=>", p[-1]);

		if (begins && !strncmp(p, word, strlen(word)) &&
		    strchr(" \t,=>\n", p[strlen(word)]))
			return (struct span){ p - rule->src->text, strlen(word) };
	}
	return rule->when_span;
}

static int check_span_key(const struct rule_conf *rule, const struct span_ends *e, uint32_t i,
			  bool at_end, struct diags *d)
{
	const char *name = at_end ? e->target.keys[i].end : e->target.keys[i].start;
	bool same = !strcmp(e->target.keys[i].start, e->target.keys[i].end);
	struct frbpf_extract x;
	struct err err = { "" };
	int code = span_ends__key(e, i, at_end, &x, &err);

	if (!code || code == -ENOMEM)
		return code;
	return diags__error(d, rule->src, find_word_in_when(rule, name), "the key '%s' at %s: %s%s",
			    name, at_end ? e->target.end : e->target.start, err.msg,
			    code == -ENOENT && same
				    ? "; tid, pid and cpu may be a key of any span; if the ends "
				      "name it differently, write NAME_AT_START = NAME_AT_END"
				    : "");
}

static int bind_span_arg(struct rule_conf *rule, struct rule_arg *arg, const struct span_ends *e,
			 struct diags *d)
{
	struct expr_field_desc desc = { .name = arg->name,
					.field = FRBPF_FIELD_ARG + arg->slot,
					.of_event = true };
	struct err err = { "" };
	struct btf_value v;
	struct span bad = { 0 };
	bool start;
	const char *base = arg->name;
	int code = span_ends__value(e, arg->name, &start, &v, &bad, &err);

	if (code == -ENOMEM)
		return code;
	if (code) {
		bad.off += arg->at.off;
		if (bad.off + bad.len > arg->at.off + arg->at.len)
			bad = arg->at;
		return diags__error(d, rule->src, bad, "'%s' of the span's %s: %s", arg->name,
				    strncmp(base, START, strlen(START)) ? "end" : "start", err.msg);
	}
	if (!start && rule->when.pending) {
		btf_value__free(&v);
		return diags__error(d, rule->src, arg->at,
				    "a pending span has not ended: write start.NAME for an "
				    "argument of its start");
	}
	if (start && e->target.nested) {
		btf_value__free(&v);
		return diags__error(d, rule->src, arg->at,
				    "a nested span has many starts: '%s' is not kept for each",
				    arg->name);
	}
	base += start ? strlen(START) : 0;
	desc.type = v.type;
	desc.min = v.min;
	desc.max = v.max;
	arg->symbols = constant__of_tracepoint(start ? e->target.start : e->target.end, base);
	desc.symbols = arg->symbols ?: v.symbols;
	code = expr__bind(&rule->expr, arg->slot, &desc, rule->src, d);
	arg->bound = !code;
	arg->type = v.type;
	btf_value__free(&v);
	return code;
}

static int bind_open(struct rule_conf *rule, const struct span_ends *e, struct diags *d)
{
	int err = 0, one;

	for (uint32_t i = 0; i < e->target.n_keys; i++) {
		for (int at_end = 0; at_end < 2; at_end++) {
			one = check_span_key(rule, e, i, at_end, d);
			err = err ?: one;
		}
	}
	for (uint32_t i = 0; i < rule->args.n; i++) {
		one = rule->args.v[i].bound ? 0 : bind_span_arg(rule, &rule->args.v[i], e, d);
		err = err ?: one;
	}
	return err;
}

int span_ends__bind(struct rule_conf *rule, struct diags *d)
{
	struct span_ends e;
	int err = span_ends__open(rule->when.target, &e);
	const char *missing = e.start ? e.target.end : e.target.start;

	if (err == -ENOENT)
		diags__error(d, rule->src, find_word_in_when(rule, missing),
			     "this kernel has no tracepoint '%s' with known arguments", missing);
	else if (err == -EOPNOTSUPP)
		diags__error(d, rule->src, rule->when_span,
			     "this kernel has no type information (BTF): rules need it");
	else if (!err)
		err = bind_open(rule, &e, d);
	span_ends__free(&e);
	return err == -ENOMEM ? err : err ? -EINVAL : 0;
}
