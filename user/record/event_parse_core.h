/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Internals of the parser of one event: its parts and its terms. Private to event_parse.c,
 * event_terms.c and event_group.c.
 */
#ifndef FRBPF_RECORD_EVENT_PARSE_CORE_H
#define FRBPF_RECORD_EVENT_PARSE_CORE_H

#include <string.h>

#include "record/event_parse.h"
#include "record/pmu.h"

#define EVENT_MODIFIERS "ukhGHIpPSDWebX" /* perf's; X only in later versions */

/* A part of the item. */
struct part {
	const char *s;
	size_t len;
};

struct event_parser {
	const struct event_item *item;
	const struct source_text *src;
	struct diags *d;
	struct event_spec *spec;
	struct pmu pmu; /* valid if is_pmu */
	bool is_pmu;
	/* sys:name/terms/modifiers; head is what is before the terms */
	struct part head, terms, modifiers;
	bool has_terms;
};

/* Get the span of @part in the source; if quotes make it unknown, the span of the whole item. */
struct span part__span(const struct event_parser *p, struct part part);

#define PART_ERROR(p, part, ...) diags__error((p)->d, (p)->src, part__span(p, part), __VA_ARGS__)

/* Split @all at the first @c. False: there is none; *ret_first is all of it, *ret_rest is empty. */
bool part__cut(struct part all, char c, struct part *ret_first, struct part *ret_rest);
bool part__is(struct part part, const char *word);
int part__dup(struct part part, char **ret);

/* Check the modifiers: each letter once, p up to three times. */
int event_parser__check_modifiers(struct event_parser *p, struct part m);

/* Parse the terms between the slashes. */
int event_parser__terms(struct event_parser *p);
/* Parse one term of the PMU, or one of its events. */
int event_parser__pmu_term(struct event_parser *p, struct part whole, struct part name,
			   struct part value, bool has_value);

/* Parse "mem:ADDR[/LEN][:rwx][:MODIFIERS]". */
int event_parser__breakpoint(struct event_parser *p);

#endif
