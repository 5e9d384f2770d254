/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of the parser of one event: its parts and its terms. Private to event_parse.c,
 * event_terms.c and event_group.c. */
#ifndef FRBPF_RECORD_EVENT_PARSE_CORE_H
#define FRBPF_RECORD_EVENT_PARSE_CORE_H

#include <string.h>

#include "record/event_parse.h"
#include "record/pmu.h"

#define EVENT_MODIFIERS "ukhGHIpPSDWeb" /* perf's */

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
	struct pmu pmu; /* with is_pmu only */
	bool is_pmu;
	/* sys:name/terms/modifiers; head is what stands before the terms */
	struct part head, terms, modifiers;
	bool has_terms;
};

/* Where @part stands; the whole item when quotes inside it hide that. */
struct span part__span(const struct event_parser *p, struct part part);

#define PART_ERROR(p, part, ...) diags__error((p)->d, (p)->src, part__span(p, part), __VA_ARGS__)

/* The part up to @c, or all of it; *rest becomes what is behind @c. False: there is no @c. */
bool part__cut(struct part all, char c, struct part *ret_first, struct part *ret_rest);
bool part__is(struct part part, const char *word);
int part__dup(struct part part, char **ret);

/* Each letter once, p up to three times. */
int event_parser__check_modifiers(struct event_parser *p, struct part m);

/* The terms between the slashes. */
int event_parser__terms(struct event_parser *p);
/* One term of the PMU, or one of its events. */
int event_parser__pmu_term(struct event_parser *p, struct part whole, struct part name,
			   struct part value, bool has_value);

/* Parse "mem:ADDR[/LEN][:rwx][:MODIFIERS]". */
int event_parser__breakpoint(struct event_parser *p);

#endif
