// SPDX-License-Identifier: GPL-2.0-only
/* Parses the terms between the slashes of an event. */
#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "record/call_graph.h"
#include "record/event_parse_core.h"
#include "rules/units.h"

static int number_term(struct event_parser *p, struct part value, uint64_t min, uint64_t max,
		       uint64_t *ret)
{
	const char *why = "";
	uint64_t n;

	if (units__number(value.s, value.len, &n, &why) < 0)
		return PART_ERROR(p, value, "'%.*s': %s", (int)value.len, value.s, why);
	if (n < min || n > max)
		return PART_ERROR(p, value, "%.*s is out of range: at least %llu, at most %llu",
				  (int)value.len, value.s, (unsigned long long)min,
				  (unsigned long long)max);
	*ret = n;
	return 0;
}

static int term_period(struct event_parser *p, struct part value)
{
	p->spec->freq = 0;
	return number_term(p, value, 1, INT64_MAX, &p->spec->period);
}

static int term_freq(struct event_parser *p, struct part value)
{
	p->spec->period = 0;
	p->spec->freq_span = part__span(p, value);
	return number_term(p, value, 1, UINT32_MAX, &p->spec->freq);
}

static int term_call_graph(struct event_parser *p, struct part value)
{
	enum call_graph mode = call_graph__find(value.s, value.len);

	if (mode == CALL_GRAPH_NONE && !part__is(value, "no"))
		return PART_ERROR(p, value, "unknown call graph '%.*s': fp, dwarf, lbr or no",
				  (int)value.len, value.s);
	p->spec->callchain = mode == CALL_GRAPH_NONE ? CALLCHAIN_NO : CALLCHAIN_OWN;
	p->spec->call_graph = mode;
	return 0;
}

static int term_stack_size(struct event_parser *p, struct part value)
{
	uint64_t n;
	int err = number_term(p, value, 1, CALL_GRAPH_STACK_MAX, &n);

	if (err)
		return err;
	call_graph__round_stack(&n);
	p->spec->stack_bytes = n;
	return 0;
}

static int term_max_stack(struct event_parser *p, struct part value)
{
	uint64_t n;
	int err = number_term(p, value, 1, UINT16_MAX, &n);

	if (err)
		return err;
	p->spec->max_stack = n;
	p->spec->max_stack_span = part__span(p, value);
	return 0;
}

static int term_name(struct event_parser *p, struct part value)
{
	return part__dup(value, &p->spec->name);
}

static int term_nothing_to_do(struct event_parser *p, struct part value)
{
	return 0;
}

static int term_number(struct event_parser *p, struct part value)
{
	uint64_t n;

	return number_term(p, value, 0, UINT64_MAX, &n);
}

/* Only check the value: every record has a time anyway. */
static int term_time(struct event_parser *p, struct part value)
{
	uint64_t n;

	return number_term(p, value, 0, 1, &n);
}

static int term_inherit(struct event_parser *p, struct part value)
{
	p->spec->inherit = INHERIT_YES;
	return 0;
}

static int term_no_inherit(struct event_parser *p, struct part value)
{
	p->spec->inherit = INHERIT_NO;
	return 0;
}

static int term_branch_type(struct event_parser *p, struct part value)
{
	struct part_span bad;
	struct part word;

	if (part__is(value, "no")) {
		p->spec->branch_off = true;
		return 0;
	}
	if (!call_graph__branch_types(value.s, value.len, &p->spec->branch_types, &bad))
		return 0;
	word = (struct part){ value.s + bad.off, bad.len };
	return PART_ERROR(p, word,
			  "unknown branch type '%.*s': use one of no " CALL_GRAPH_BRANCH_WORDS,
			  (int)bad.len, word.s);
}

static int term_config(struct event_parser *p, struct part value)
{
	uint64_t n;
	int err = number_term(p, value, 0, UINT64_MAX, &n);

	if (!err)
		p->spec->attr.config = n;
	return err;
}

static int term_config1(struct event_parser *p, struct part value)
{
	uint64_t n;
	int err = number_term(p, value, 0, UINT64_MAX, &n);

	if (!err)
		p->spec->attr.config1 = n;
	return err;
}

static int term_config2(struct event_parser *p, struct part value)
{
	uint64_t n;
	int err = number_term(p, value, 0, UINT64_MAX, &n);

	if (!err)
		p->spec->attr.config2 = n;
	return err;
}

static int term_aux(struct event_parser *p, struct part value)
{
	return PART_ERROR(p, p->terms,
			  "AUX area data has no overwritable ring of records: use branch_type= or "
			  "call-graph=lbr for a history of branches");
}

/* A term that perf has since 6.17. */
static int term_cpu(struct event_parser *p, struct part value)
{
	return PART_ERROR(p, value,
			  "an event on CPUs of its own needs a session of its own, with -C");
}

/* perf's own terms; a PMU adds those in its format/ and events/. */
static const struct term {
	const char *name;
	bool has_value;
	bool tracepoint; /* also legal on tracepoints */
	bool is_config;	 /* a PMU parses it itself */
	int (*set)(struct event_parser *p, struct part value);
} terms[] = {
	{ "period", true, false, false, term_period },
	{ "freq", true, false, false, term_freq },
	{ "call-graph", true, true, false, term_call_graph },
	{ "stack-size", true, true, false, term_stack_size },
	{ "max-stack", true, true, false, term_max_stack },
	{ "name", true, false, false, term_name },
	{ "config", true, false, true, term_config },
	{ "config1", true, false, true, term_config1 },
	{ "config2", true, false, true, term_config2 },
	{ "inherit", false, true, false, term_inherit },
	{ "no-inherit", false, true, false, term_no_inherit },
	{ "overwrite", false, true, false, term_nothing_to_do },
	{ "no-overwrite", false, true, false, term_nothing_to_do },
	{ "time", true, false, false, term_time },
	{ "cpu", true, false, false, term_cpu },
	{ "branch_type", true, false, false, term_branch_type },
	{ "nr", true, true, false, term_number },
	{ "percore", false, false, false, term_nothing_to_do },
	{ "metric-id", true, false, false, term_nothing_to_do },
	{ "aux-action", true, true, false, term_aux },
	{ "aux-output", false, true, false, term_aux },
	{ "aux-sample-size", true, true, false, term_aux },
};

static const struct term *find_term(struct part name)
{
	for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
		if (part__is(name, terms[i].name))
			return &terms[i];
	return NULL;
}

int event_parser__pmu_term(struct event_parser *p, struct part whole, struct part name,
			   struct part value, bool has_value)
{
	char *n = strndup(name.s, name.len), *v = strndup(value.s, value.len);
	struct err err = { "" };
	int code = -ENOMEM;

	if (n && v && pmu__term(&p->pmu, n, has_value ? v : NULL, &p->spec->attr, &err) < 0)
		code = PART_ERROR(p, whole, "%s", err.msg);
	else if (n && v)
		code = 0;
	free(n);
	free(v);
	return code;
}

static int unknown_term(struct event_parser *p, struct part name)
{
	const char *names[ARRAY_SIZE(terms) + 1] = { NULL }, *near;

	for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
		names[i] = terms[i].name;
	near = nearest_word(name.s, name.len, names);
	if (near)
		return PART_ERROR(p, name, "unknown term '%.*s' (did you mean '%s'?)",
				  (int)name.len, name.s, near);
	return PART_ERROR(p, name,
			  "unknown term '%.*s': use period, freq, call-graph, max-stack or name",
			  (int)name.len, name.s);
}

static int parse_event_term(struct event_parser *p, struct part whole)
{
	struct part name, value;
	bool has_value = part__cut(whole, '=', &name, &value);
	const struct term *t = find_term(name);

	if (!name.len)
		return PART_ERROR(p, whole, "a term is missing here: write NAME or NAME=VALUE");
	if (p->is_pmu && (!t || t->is_config))
		return event_parser__pmu_term(p, whole, name, value, has_value);
	if (!t)
		return unknown_term(p, name);
	if (p->spec->system && !t->tracepoint)
		return PART_ERROR(p, name,
				  "term '%s' is not for tracepoints: use -c or -F for all events",
				  t->name);
	if (has_value != t->has_value || (has_value && !value.len))
		return PART_ERROR(p, whole,
				  t->has_value ? "term '%s' needs a value"
					       : "term '%s' takes no value",
				  t->name);
	return t->set(p, value);
}

int event_parser__terms(struct event_parser *p)
{
	struct part rest = p->terms, one;
	bool more = rest.len > 0;
	int err;

	while (more) {
		more = part__cut(rest, ',', &one, &rest);
		err = parse_event_term(p, one);
		if (err)
			return err;
	}
	return 0;
}
