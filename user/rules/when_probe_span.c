// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spans between places in programs: usdt:PATH:PROVIDER:PROBE -> uprobe:PATH:SYMBOL by KEY[, KEY] >
 * DURATION.
 */
#include <errno.h>
#include <string.h>

#include "rules/ruleset.h"
#include "rules/target.h"
#include "rules/when_parse.h"

/* Parse the place after "->". */
static int parse_end_place(struct when_parser *p, struct probe_end *ret)
{
	struct span word;

	p->pos += strlen("->");
	word = when_parser__word(p);
	if (!text__equals(p->src, word, "uprobe") && !text__equals(p->src, word, "usdt"))
		return diags__error(p->d, p->src, word.len ? word : when_parser__here(p),
				    "a span that starts in a program must end in one: write "
				    "uprobe:PATH:SYMBOL or usdt:PATH:PROVIDER:PROBE");
	ret->source = text__equals(p->src, word, "usdt") ? FRBPF_SOURCE_USDT : FRBPF_SOURCE_UPROBE;
	return when_parser__probe_place(p, word, &ret->target);
}

static bool is_probe_key(const char *name)
{
	return !strcmp(name, "tid") || !strcmp(name, "pid") || probe_span__arg(name) >= 0;
}

static int parse_probe_keys(struct when_parser *p, struct span_target *t)
{
	struct span at = { .off = p->pos };
	int err = when_parser__span_keys(p, t);

	at.len = p->pos - at.off;
	at = text__trim(p->src, at);
	if (err)
		return err;
	if (t->nested)
		return diags__error(p->d, p->src, at,
				    "only spans between tracepoints can be nested");
	for (uint32_t i = 0; i < t->n_keys; i++) {
		if (!is_probe_key(t->keys[i].start) || !is_probe_key(t->keys[i].end))
			return diags__error(p->d, p->src, at,
					    "the keys of a span between places in programs must be "
					    "tid, pid, or arg0 to arg%d",
					    FRBPF_MAX_ARGS - 1);
	}
	return 0;
}

/* Would the text of the target be parsed differently? Names in quotes may have blanks in them. */
static bool is_ambiguous(const struct probe_span_target *t)
{
	for (int i = 0; i < 2; i++) {
		if (strstr(t->end[i].target, " -> ") || strstr(t->end[i].target, " by "))
			return true;
	}
	return false;
}

static int check_ends(struct when_parser *p, struct span at, const struct probe_span_target *t)
{
	if (is_ambiguous(t))
		return diags__error(p->d, p->src, at,
				    "' -> ' and ' by ' may not be part of a name here");
	if (t->end[0].source == t->end[1].source && !strcmp(t->end[0].target, t->end[1].target))
		return diags__error(p->d, p->src, at,
				    "this span starts and ends at the same place");
	return 0;
}

int when_parser__probe_span(struct when_parser *p, struct span start, struct when *ret)
{
	struct probe_span_target t = { .end[0] = { text__equals(p->src, start, "usdt")
							   ? FRBPF_SOURCE_USDT
							   : FRBPF_SOURCE_UPROBE,
						   ret->target } };
	struct span ends = { .off = start.off };
	int err = parse_end_place(p, &t.end[1]);

	ret->target = NULL;
	ends.len = p->pos - ends.off;
	err = err ?: check_ends(p, text__trim(p->src, ends), &t);
	err = err ?: parse_probe_keys(p, &t.keys);
	err = err ?: when_parser__threshold(p, ret);
	if (!err) {
		ret->source = FRBPF_SOURCE_PROBE_SPAN;
		ret->target = probe_span_target__format(&t);
		err = ret->target ? 0 : -ENOMEM;
	}
	probe_span_target__free(&t);
	return err;
}

/* ---- `if` ---- */

static int bind_probe_value(struct rule_conf *rule, struct rule_arg *arg, struct diags *d)
{
	bool at_start;
	const struct expr_field_desc field = {
		.name = arg->name,
		.field = FRBPF_FIELD_ARG + arg->slot,
		.type = EXPR_NUMBER,
		.min = INT64_MIN,
		.max = INT64_MAX,
		.of_event = true,
	};
	int err;

	if (probe_span__value(arg->name, &at_start) < 0)
		return diags__error(d, rule->src, arg->at,
				    "unknown field " QUOTED
				    ": arg0 to arg%d belong to the span's end, start.arg0 to "
				    "start.arg%d to its start",
				    QUOTE(arg->name, strlen(arg->name)), FRBPF_MAX_ARGS - 1,
				    FRBPF_MAX_ARGS - 1);
	if (!at_start && rule->when.pending)
		return diags__error(
			d, rule->src, arg->at,
			"a pending span has not ended: write start.%s for an argument of its start",
			arg->name);
	err = expr__bind(&rule->expr, arg->slot, &field, rule->src, d);
	arg->type = field.type;
	arg->bound = !err;
	return err;
}

int when__bind_probe_span(const struct ruleset *rs, struct rule_conf *rule, struct diags *d)
{
	int err = 0;

	for (uint32_t i = 0; i < rule->args.n && !err; i++)
		err = bind_probe_value(rule, &rule->args.v[i], d);
	return err;
}
