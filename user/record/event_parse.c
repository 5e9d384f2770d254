// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "record/event_names.h"
#include "record/event_parse_core.h"
#include "rules/units.h"

struct span part__span(const struct event_parser *p, struct part part)
{
	if (strlen(p->item->text) != p->item->span.len)
		return p->item->span;
	return (struct span){ p->item->span.off + (part.s - p->item->text), part.len };
}

bool part__is(struct part part, const char *word)
{
	return part.len == strlen(word) && !memcmp(part.s, word, part.len);
}

bool part__cut(struct part all, char c, struct part *ret_first, struct part *ret_rest)
{
	const char *found = memchr(all.s, c, all.len);

	*ret_first = (struct part){ all.s, found ? (size_t)(found - all.s) : all.len };
	*ret_rest = (struct part){ all.s + all.len, 0 };
	if (found)
		*ret_rest = (struct part){ found + 1, all.s + all.len - found - 1 };
	return found;
}

int part__dup(struct part part, char **ret)
{
	char *s = strndup(part.s, part.len);

	if (!s)
		return -ENOMEM;
	free(*ret);
	*ret = s;
	return 0;
}

static bool part__only_modifiers(struct part part)
{
	for (size_t i = 0; i < part.len; i++)
		if (!strchr(EVENT_MODIFIERS, part.s[i]))
			return false;
	return part.len > 0;
}

int event_parser__check_modifiers(struct event_parser *p, struct part m)
{
	unsigned int precise = 0;

	for (size_t i = 0; i < m.len; i++) {
		struct part one = { m.s + i, 1 };
		char c = m.s[i];

		if (!strchr(EVENT_MODIFIERS, c))
			return PART_ERROR(
				p, one,
				"unknown modifier '%c': use one of u k h G H I p P S D W e b X", c);
		precise += c == 'p';
		if (precise > 3)
			return PART_ERROR(p, one, "modifier 'p' can appear at most three times");
		if (c != 'p' && memchr(m.s, c, i))
			return PART_ERROR(p, one, "modifier '%c' twice: remove one", c);
	}
	return 0;
}

/*
 * As get_event_modifier() in tools/perf/util/parse-events.c: one privilege level excludes the
 * others.
 */
static void apply_modifiers(struct part m, struct event_spec *spec)
{
	struct perf_event_attr *a = &spec->attr;

	for (size_t i = 0; i < m.len; i++) {
		char c = m.s[i];

		if (strchr("ukh", c) && !a->exclude_user && !a->exclude_kernel && !a->exclude_hv)
			a->exclude_user = a->exclude_kernel = a->exclude_hv = 1;
		if (strchr("GH", c) && !spec->machines) {
			spec->machines = true;
			a->exclude_guest = a->exclude_host = 1;
		}
		if (strchr("up", c) && !spec->machines)
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
		case 'S':
			spec->read_group = true;
			break;
		case 'W':
			spec->weak = true;
			break;
		}
	}
	if (spec->precise_max)
		a->precise_ip = 3;
}

/* Split sys:name/terms/modifiers. Modifiers after a second ':' of the head are split off later. */
static int split_event(struct event_parser *p)
{
	struct part all = { p->item->text, strlen(p->item->text) }, rest;

	if (strpbrk(all.s, "{}"))
		return PART_ERROR(p, all, "a group is {EVENT,EVENT...}, with modifiers after it");
	p->has_terms = part__cut(all, '/', &p->head, &rest);
	p->modifiers = rest;
	if (!p->has_terms)
		return 0;
	if (!part__cut(rest, '/', &p->terms, &p->modifiers))
		return PART_ERROR(p, rest, "the terms are not ended: a '/' is missing");
	if (p->modifiers.len && p->modifiers.s[0] == ':') {
		p->modifiers.s++;
		p->modifiers.len--;
	}
	return 0;
}

/* Parse a raw config such as "r1a8". */
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

static bool parse_term_number(struct part s, uint64_t *ret)
{
	const char *why;

	return s.len && isdigit((unsigned char)s.s[0]) && !units__number(s.s, s.len, ret, &why);
}

static void set_event(struct event_parser *p, uint32_t type, uint64_t config)
{
	p->spec->attr.type = type;
	p->spec->attr.config = config;
}

/* Parse names that are the same on all machines. -ENOENT: @name is not one of them. */
static int known_event(struct event_parser *p, struct part name)
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
		return PART_ERROR(p, name, "cache event '%.*s': this cache has no such operation",
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

static int unknown_event(struct event_parser *p, struct part name)
{
	char near[64];

	if (!name.len)
		return PART_ERROR(p, p->head, "an event name is missing");
	if (event_names__nearest(name.s, name.len, near, sizeof(near)))
		return PART_ERROR(p, name, "unknown event '%.*s' (did you mean '%s'?)",
				  (int)name.len, name.s, near);
	return PART_ERROR(p, name, "unknown %s '%.*s': `frbpf events` lists what this kernel has",
			  p->has_terms ? "PMU or event" : "event", (int)name.len, name.s);
}

/* Reject PMUs with events that terms cannot express. */
static int check_pmu(struct event_parser *p, struct part name)
{
	if (p->pmu.type == PERF_TYPE_TRACEPOINT)
		return PART_ERROR(p, name, "write a tracepoint as SYSTEM:NAME");
	if (p->pmu.type == PERF_TYPE_BREAKPOINT)
		return PART_ERROR(p, name, "write a breakpoint as mem:ADDR:rw");
	if (!strcmp(p->pmu.name, "uprobe"))
		return PART_ERROR(p, name,
				  "config1 of PMU 'uprobe' is a pointer, which a line cannot have: "
				  "make the probe with `perf probe -x PROGRAM FUNCTION`, and write "
				  "the tracepoint that it prints");
	return 0;
}

/* A kprobe can be given by address only: a name would be a pointer. */
static int check_kprobe(struct event_parser *p)
{
	if (!p->is_pmu || strcmp(p->pmu.name, "kprobe") != 0)
		return 0;
	if (!p->spec->attr.config1 && p->spec->attr.config2)
		return 0;
	return PART_ERROR(
		p, p->head,
		"a kprobe by terms is kprobe/config2=ADDRESS/: config1 is a pointer, which "
		"a line cannot have; or make the probe with `perf probe FUNCTION`");
}

static int pmu_event(struct event_parser *p, struct part name)
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
	return err ? err
		   : event_parser__pmu_term(p, name, name, (struct part){ name.s + name.len, 0 },
					    false);
}

/*
 * Parse @first:@second as a tracepoint or TYPE:CONFIG; else it is a misspelt event with modifiers.
 */
static int parse_two_parts(struct event_parser *p, struct part first, struct part second)
{
	uint64_t type, config;
	char near[64];
	int err;

	if (parse_term_number(first, &type) && parse_term_number(second, &config)) {
		if (type > UINT32_MAX || type == PERF_TYPE_TRACEPOINT ||
		    type == PERF_TYPE_BREAKPOINT)
			return PART_ERROR(p, first,
					  type > UINT32_MAX ? "event type %.*s is out of range"
							    : "write events of type %.*s by name",
					  (int)first.len, first.s);
		set_event(p, type, config);
		return 0;
	}
	if (part__only_modifiers(second) &&
	    event_names__nearest(first.s, first.len, near, sizeof(near)))
		return unknown_event(p, first);
	if (!first.len || !second.len)
		return PART_ERROR(p, p->head, "a tracepoint is SYSTEM:NAME");
	set_event(p, PERF_TYPE_TRACEPOINT, 0);
	p->spec->system_span = part__span(p, first);
	p->spec->event_span = part__span(p, second);
	err = part__dup(first, &p->spec->system);
	return err ?: part__dup(second, &p->spec->event);
}

static int parse_event_head(struct event_parser *p)
{
	struct part first, second, third, more;
	bool two = part__cut(p->head, ':', &first, &second), three;
	int err = known_event(p, first);

	if (err == -ENOENT && two) {
		three = part__cut(second, ':', &second, &third);
		err = parse_two_parts(p, first, second);
	} else if (!err && two && p->spec->attr.type == PERF_TYPE_RAW &&
		   !part__only_modifiers(second)) {
		/* "ras:mc_event": a tracepoint, although "ras" looks like a raw config */
		three = part__cut(second, ':', &second, &third);
		err = parse_two_parts(p, first, second);
	} else {
		three = two;
		third = second;
		if (err == -ENOENT)
			err = pmu_event(p, first);
	}
	if (err || !three)
		return err;
	if (p->has_terms)
		return PART_ERROR(p, third, "modifiers come after the last '/'");
	if (part__cut(third, ':', &third, &more) || !third.len)
		return PART_ERROR(p, more.len ? more : third,
				  "modifiers are letters after the last ':'");
	p->modifiers = third;
	return 0;
}

static int parse_event(struct event_parser *p)
{
	int err;

	if (!strncmp(p->item->text, "mem:", 4))
		return event_parser__breakpoint(p);
	err = split_event(p);
	err = err ?: parse_event_head(p);
	err = err ?: event_parser__terms(p);
	return err ?: check_kprobe(p);
}

int event_spec__parse(const struct event_item *item, const char *of_group,
		      const struct source_text *src, struct diags *d, struct event_spec *ret)
{
	struct event_parser p = { .item = item, .src = src, .d = d, .spec = ret };
	int err;

	*ret = (struct event_spec){ .attr.exclude_guest = 1 }; /* perf's default */
	err = parse_event(&p);
	err = err ?: event_parser__check_modifiers(&p, p.modifiers);
	if (err)
		return err;
	/* as in perf, an event with modifiers includes guests, unless a modifier excludes them */
	ret->attr.exclude_guest = !p.modifiers.len;
	apply_modifiers(p.modifiers, ret);
	apply_modifiers((struct part){ of_group, strlen(of_group) }, ret);
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
