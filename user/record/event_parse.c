// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "record/event_names.h"
#include "record/event_parse.h"
#include "record/pmu.h"
#include "rules/units.h"

#define MODIFIERS "ukhGHIpPSDWeb" /* perf's */

/* A part of the item. */
struct part {
	const char *s;
	size_t len;
};

struct parser {
	const struct event_item *item;
	const struct source_text *src;
	struct diags *d;
	struct event_spec *spec;
	struct pmu pmu; /* with is_pmu only */
	bool is_pmu;
	/* sys:name/terms/modifiers; head is what stands before the terms */
	struct part head, terms, modifiers;
	bool has_terms;
};

/* Where @part stands; the whole item when quotes inside it hide that. */
static struct span at(const struct parser *p, struct part part)
{
	if (strlen(p->item->text) != p->item->span.len)
		return p->item->span;
	return (struct span){ p->item->span.off + (part.s - p->item->text), part.len };
}

#define ERROR(p, part, ...) diags__error((p)->d, (p)->src, at(p, part), __VA_ARGS__)

static bool is(struct part part, const char *word)
{
	return part.len == strlen(word) && !memcmp(part.s, word, part.len);
}

/* The part up to @c, or all of it; *rest becomes what is behind @c. False: there is no @c. */
static bool cut(struct part all, char c, struct part *ret_first, struct part *ret_rest)
{
	const char *found = memchr(all.s, c, all.len);

	*ret_first = (struct part){ all.s, found ? (size_t)(found - all.s) : all.len };
	*ret_rest = (struct part){ all.s + all.len, 0 };
	if (found)
		*ret_rest = (struct part){ found + 1, all.s + all.len - found - 1 };
	return found;
}

static int dup_part(struct part part, char **ret)
{
	char *s = strndup(part.s, part.len);

	if (!s)
		return -ENOMEM;
	free(*ret);
	*ret = s;
	return 0;
}

static bool only_modifiers(struct part part)
{
	for (size_t i = 0; i < part.len; i++)
		if (!strchr(MODIFIERS, part.s[i]))
			return false;
	return part.len > 0;
}

/* Each letter once, p up to three times, and only those that a session can honour. */
static int check_modifiers(struct parser *p, struct part m)
{
	unsigned int precise = 0;

	for (size_t i = 0; i < m.len; i++) {
		struct part one = { m.s + i, 1 };
		char c = m.s[i];

		if (!strchr(MODIFIERS, c))
			return ERROR(p, one,
				     "unknown modifier '%c': these exist: u k h G H I p P D e", c);
		if (strchr("SWb", c))
			return ERROR(p, one, "modifier '%c' of perf is not supported yet", c);
		precise += c == 'p';
		if (precise > 3)
			return ERROR(p, one, "at most three p");
		if (c != 'p' && memchr(m.s, c, i))
			return ERROR(p, one, "modifier '%c' twice: remove one", c);
	}
	return 0;
}

/* As tools/perf/util/parse-events.c, get_event_modifier(): naming one privilege level excludes the
 * others, and any modifier at all takes guests in again unless it excludes them. */
static void apply_modifiers(struct part m, struct event_spec *spec)
{
	bool levels = false, machines = false;
	struct perf_event_attr *a = &spec->attr;

	if (m.len)
		a->exclude_guest = 0;
	for (size_t i = 0; i < m.len; i++) {
		char c = m.s[i];

		if (strchr("ukh", c) && !levels) {
			levels = true;
			a->exclude_user = a->exclude_kernel = a->exclude_hv = 1;
		}
		if (strchr("GH", c) && !machines) {
			machines = true;
			a->exclude_guest = a->exclude_host = 1;
		}
		if (strchr("up", c) && !machines)
			a->exclude_guest = 1;
		switch (c) {
		case 'u':
			a->exclude_user = 0;
			break;
		case 'k':
			a->exclude_kernel = 0;
			break;
		case 'h':
			a->exclude_hv = 0;
			break;
		case 'G':
			a->exclude_guest = 0;
			break;
		case 'H':
			a->exclude_host = 0;
			break;
		case 'I':
			a->exclude_idle = 1;
			break;
		case 'p':
			a->precise_ip++;
			break;
		case 'P':
			spec->precise_max = true;
			break;
		case 'D':
			a->pinned = 1;
			break;
		case 'e':
			a->exclusive = 1;
			break;
		}
	}
	if (spec->precise_max)
		a->precise_ip = 3;
}

static int number_term(struct parser *p, struct part value, uint64_t min, uint64_t max,
		       uint64_t *ret)
{
	const char *why = "";
	uint64_t n;

	if (units__number(value.s, value.len, &n, &why) < 0)
		return ERROR(p, value, "'%.*s': %s", (int)value.len, value.s, why);
	if (n < min || n > max)
		return ERROR(p, value, "%.*s is out of range: at least %llu, at most %llu",
			     (int)value.len, value.s, (unsigned long long)min,
			     (unsigned long long)max);
	*ret = n;
	return 0;
}

static int term_period(struct parser *p, struct part value)
{
	p->spec->freq = 0;
	return number_term(p, value, 1, INT64_MAX, &p->spec->period);
}

static int term_freq(struct parser *p, struct part value)
{
	p->spec->period = 0;
	p->spec->freq_span = at(p, value);
	return number_term(p, value, 1, UINT32_MAX, &p->spec->freq);
}

static int term_call_graph(struct parser *p, struct part value)
{
	if (is(value, "fp"))
		p->spec->callchain = CALLCHAIN_FP;
	else if (is(value, "no"))
		p->spec->callchain = CALLCHAIN_NO;
	else if (is(value, "dwarf") || is(value, "lbr"))
		return ERROR(p, value, "call-graph=%.*s is not supported yet: use fp",
			     (int)value.len, value.s);
	else
		return ERROR(p, value, "unknown call graph '%.*s': fp or no", (int)value.len,
			     value.s);
	return 0;
}

static int term_max_stack(struct parser *p, struct part value)
{
	uint64_t n;
	int err = number_term(p, value, 1, UINT16_MAX, &n);

	if (err)
		return err;
	p->spec->max_stack = n;
	p->spec->max_stack_span = at(p, value);
	return 0;
}

static int term_name(struct parser *p, struct part value)
{
	return dup_part(value, &p->spec->name);
}

static int term_nothing_to_do(struct parser *p, struct part value)
{
	return 0;
}

static int term_config(struct parser *p, struct part value)
{
	uint64_t n;
	int err = number_term(p, value, 0, UINT64_MAX, &n);

	if (!err)
		p->spec->attr.config = n;
	return err;
}

/* perf's own terms; a PMU adds those of its format/ and events/. */
static const struct term {
	const char *name;
	bool has_value;
	bool tracepoint;				 /* legal on tracepoints too */
	int (*set)(struct parser *p, struct part value); /* NULL: not supported yet */
} terms[] = {
	{ "period", true, false, term_period },
	{ "freq", true, false, term_freq },
	{ "call-graph", true, true, term_call_graph },
	{ "max-stack", true, true, term_max_stack },
	{ "name", true, false, term_name },
	{ "config", true, false, term_config },
	{ "inherit", false, true, term_nothing_to_do },
	{ "overwrite", false, true, term_nothing_to_do },
	{ "no-inherit", false, true, NULL },
	{ "no-overwrite", false, true, NULL },
	{ "time", true, false, NULL },
	{ "branch_type", true, false, NULL },
	{ "stack-size", true, true, NULL },
	{ "nr", true, true, NULL },
	{ "percore", false, false, NULL },
	{ "aux-output", false, true, NULL },
	{ "aux-sample-size", true, true, NULL },
	{ "metric-id", true, false, NULL },
};

static const struct term *find_term(struct part name)
{
	for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
		if (is(name, terms[i].name))
			return &terms[i];
	return NULL;
}

static int pmu_term(struct parser *p, struct part whole, struct part name, struct part value,
		    bool has_value)
{
	char *n = strndup(name.s, name.len), *v = strndup(value.s, value.len);
	struct err err = { "" };
	int ret = -ENOMEM;

	if (n && v && pmu__term(&p->pmu, n, has_value ? v : NULL, &p->spec->attr, &err) < 0)
		ret = ERROR(p, whole, "%s", err.msg);
	else if (n && v)
		ret = 0;
	free(n);
	free(v);
	return ret;
}

static int unknown_term(struct parser *p, struct part name)
{
	const char *names[ARRAY_SIZE(terms) + 1] = { NULL }, *near;

	for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
		names[i] = terms[i].name;
	near = nearest_word(name.s, name.len, names);
	if (near)
		return ERROR(p, name, "unknown term '%.*s' (did you mean '%s'?)", (int)name.len,
			     name.s, near);
	return ERROR(p, name,
		     "unknown term '%.*s': period, freq, call-graph, max-stack and name exist",
		     (int)name.len, name.s);
}

static int one_term(struct parser *p, struct part whole)
{
	struct part name, value;
	bool has_value = cut(whole, '=', &name, &value);
	const struct term *t = find_term(name);

	if (!name.len)
		return ERROR(p, whole, "a term is missing here: write NAME or NAME=VALUE");
	if (p->is_pmu && (!t || t->set == term_config))
		return pmu_term(p, whole, name, value, has_value);
	if (!t)
		return unknown_term(p, name);
	if (p->spec->system && !t->tracepoint)
		return ERROR(p, name,
			     "term '%s' is not for tracepoints: use -c or -F for all events",
			     t->name);
	if (!t->set)
		return ERROR(p, name, "term '%s' is not supported yet", t->name);
	if (has_value != t->has_value || (has_value && !value.len))
		return ERROR(p, whole,
			     t->has_value ? "term '%s' needs a value" : "term '%s' takes no value",
			     t->name);
	return t->set(p, value);
}

static int all_terms(struct parser *p)
{
	struct part rest = p->terms, one;
	bool more = rest.len > 0;
	int err;

	while (more) {
		more = cut(rest, ',', &one, &rest);
		err = one_term(p, one);
		if (err)
			return err;
	}
	return 0;
}

/* sys:name/terms/modifiers into its parts; that behind a second ':' of the head comes later. */
static int split(struct parser *p)
{
	struct part all = { p->item->text, strlen(p->item->text) }, rest;

	if (strpbrk(all.s, "{}"))
		return ERROR(
			p, all,
			"groups of events are not supported yet: list the events without braces");
	if (!strncmp(all.s, "mem:", 4))
		return ERROR(p, all, "memory breakpoints (mem:ADDR) are not supported yet");
	p->has_terms = cut(all, '/', &p->head, &rest);
	p->modifiers = rest;
	if (!p->has_terms)
		return 0;
	if (!cut(rest, '/', &p->terms, &p->modifiers))
		return ERROR(p, rest, "the terms are not ended: a '/' is missing");
	if (p->modifiers.len && p->modifiers.s[0] == ':') {
		p->modifiers.s++;
		p->modifiers.len--;
	}
	return 0;
}

/* "r1a8". */
static bool raw_config(struct part s, uint64_t *ret)
{
	char digits[17] = "", *end;

	if (s.len < 2 || s.len > sizeof(digits) || s.s[0] != 'r')
		return false;
	memcpy(digits, s.s + 1, s.len - 1);
	if (strspn(digits, "0123456789abcdefABCDEF") != s.len - 1)
		return false;
	*ret = strtoull(digits, &end, 16);
	return true;
}

static bool number(struct part s, uint64_t *ret)
{
	const char *why;

	return s.len && isdigit((unsigned char)s.s[0]) && !units__number(s.s, s.len, ret, &why);
}

static void set_event(struct parser *p, uint32_t type, uint64_t config)
{
	p->spec->attr.type = type;
	p->spec->attr.config = config;
}

/* Names that need nothing of this machine. -ENOENT: @name is none. */
static int known_event(struct parser *p, struct part name)
{
	uint64_t config;
	uint32_t type;
	int err;

	if (!event_names__find(name.s, name.len, &type, &config)) {
		set_event(p, type, config);
		return 0;
	}
	err = event_names__find_cache(name.s, name.len, &config);
	if (err == -EINVAL)
		return ERROR(p, name, "cache event '%.*s': this cache has no such operation",
			     (int)name.len, name.s);
	if (!err) {
		set_event(p, PERF_TYPE_HW_CACHE, config);
		return 0;
	}
	if (raw_config(name, &config)) {
		set_event(p, PERF_TYPE_RAW, config);
		return 0;
	}
	return -ENOENT;
}

static int unknown_event(struct parser *p, struct part name)
{
	char near[64];

	if (!name.len)
		return ERROR(p, p->head, "an event name is missing");
	if (event_names__nearest(name.s, name.len, near, sizeof(near)))
		return ERROR(p, name, "unknown event '%.*s' (did you mean '%s'?)", (int)name.len,
			     name.s, near);
	return ERROR(p, name, "unknown %s '%.*s': `frbpf events` lists what this kernel has",
		     p->has_terms ? "PMU or event" : "event", (int)name.len, name.s);
}

/* PMUs whose events cannot be made of numbers. */
static int check_pmu(struct parser *p, struct part name)
{
	switch (p->pmu.type) {
	case PERF_TYPE_TRACEPOINT:
		return ERROR(p, name, "write a tracepoint as SYSTEM:NAME");
	case PERF_TYPE_BREAKPOINT:
		return ERROR(p, name, "memory breakpoints are not supported yet");
	}
	if (!strcmp(p->pmu.name, "uprobe") || !strcmp(p->pmu.name, "kprobe"))
		return ERROR(p, name,
			     "PMU '%s' is not supported yet: make the probe with `perf probe`",
			     p->pmu.name);
	return 0;
}

static int pmu_event(struct parser *p, struct part name)
{
	int err;

	if (p->has_terms && !pmu__find(name.s, name.len, &p->pmu)) {
		p->is_pmu = true;
		set_event(p, p->pmu.type, 0);
		return check_pmu(p, name);
	}
	if (p->has_terms || pmu__find_alias(name.s, name.len, &p->pmu))
		return unknown_event(p, name);
	p->is_pmu = true;
	set_event(p, p->pmu.type, 0);
	err = check_pmu(p, name);
	return err ? err : pmu_term(p, name, name, (struct part){ name.s + name.len, 0 }, false);
}

/* @first:@second... is a tracepoint, TYPE:CONFIG, or a misspelt event with modifiers. */
static int two_halves(struct parser *p, struct part first, struct part second)
{
	uint64_t type, config;
	char near[64];
	int err;

	if (number(first, &type) && number(second, &config)) {
		if (type > UINT32_MAX || type == PERF_TYPE_TRACEPOINT ||
		    type == PERF_TYPE_BREAKPOINT)
			return ERROR(p, first,
				     type > UINT32_MAX ? "event type %.*s is out of range"
						       : "write events of type %.*s by name",
				     (int)first.len, first.s);
		set_event(p, type, config);
		return 0;
	}
	if (only_modifiers(second) && event_names__nearest(first.s, first.len, near, sizeof(near)))
		return unknown_event(p, first);
	if (!first.len || !second.len)
		return ERROR(p, p->head, "a tracepoint is SYSTEM:NAME");
	set_event(p, PERF_TYPE_TRACEPOINT, 0);
	p->spec->system_span = at(p, first);
	p->spec->event_span = at(p, second);
	err = dup_part(first, &p->spec->system);
	return err ? err : dup_part(second, &p->spec->event);
}

static int event(struct parser *p)
{
	struct part first, second, third, more;
	bool two = cut(p->head, ':', &first, &second), three;
	int err = known_event(p, first);

	if (err == -ENOENT && two) {
		three = cut(second, ':', &second, &third);
		err = two_halves(p, first, second);
	} else if (!err && two && p->spec->attr.type == PERF_TYPE_RAW && !only_modifiers(second)) {
		three = cut(second, ':', &second, &third); /* "ras:mc_event" */
		err = two_halves(p, first, second);
	} else {
		three = two;
		third = second;
		if (err == -ENOENT)
			err = pmu_event(p, first);
	}
	if (err || !three)
		return err;
	if (p->has_terms)
		return ERROR(p, third, "modifiers stand behind the last '/'");
	if (cut(third, ':', &third, &more) || !third.len)
		return ERROR(p, more.len ? more : third,
			     "modifiers are letters behind the last ':'");
	p->modifiers = third;
	return 0;
}

int event_spec__parse(const struct event_item *item, const struct source_text *src, struct diags *d,
		      struct event_spec *ret)
{
	struct parser p = { .item = item, .src = src, .d = d, .spec = ret };
	int err;

	*ret = (struct event_spec){ .attr.exclude_guest = 1 }; /* perf's default */
	err = split(&p);
	if (!err)
		err = event(&p);
	if (!err)
		err = all_terms(&p);
	if (!err)
		err = check_modifiers(&p, p.modifiers);
	if (err)
		return err;
	apply_modifiers(p.modifiers, ret);
	if (ret->name)
		return 0;
	ret->name = strdup(item->text);
	return ret->name ? 0 : -ENOMEM;
}

void event_spec__free(struct event_spec *spec)
{
	free(spec->system);
	free(spec->event);
	free(spec->name);
	spec->system = spec->event = spec->name = NULL;
}
