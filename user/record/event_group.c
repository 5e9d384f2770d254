// SPDX-License-Identifier: GPL-2.0-only
/* Parses groups of events, and breakpoints: events not of the form SYSTEM:NAME/terms/. */
#include <ctype.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdlib.h>

#include "record/event_parse_core.h"
#include "rules/units.h"

bool event_group__is(const struct event_item *item)
{
	size_t name = strcspn(item->text, "{/:");

	return item->text[name] == '{';
}

static int group_add(struct event_group *g, const struct event_parser *p, struct part one)
{
	struct event_item *more;
	char *text;

	if (!one.len)
		return PART_ERROR(p, one, "an event is missing here: remove the comma or name one");
	more = reallocarray(g->items, g->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	g->items = more;
	text = strndup(one.s, one.len);
	if (!text)
		return -ENOMEM;
	more[g->n++] = (struct event_item){
		.text = text,
		.span = part__span(p, one),
		.filter = p->item->filter,
		.filter_span = p->item->filter_span,
		.exclude_perf = p->item->exclude_perf,
	};
	return 0;
}

/* Split the text in the braces at commas, except between slashes: those belong to terms. */
static int group_split(struct event_group *g, const struct event_parser *p, struct part all)
{
	bool in_terms = false;
	size_t from = 0;
	int err = 0;

	for (size_t i = 0; i <= all.len && !err; i++) {
		char c = i < all.len ? all.s[i] : ',';

		if (c == '/')
			in_terms = !in_terms;
		if (i < all.len && (c != ',' || in_terms))
			continue;
		err = group_add(g, p, (struct part){ all.s + from, i - from });
		from = i + 1;
	}
	return err;
}

int event_group__parse(const struct event_item *item, const struct source_text *src,
		       struct diags *d, struct event_group *ret)
{
	struct event_parser p = { .item = item, .src = src, .d = d };
	struct part all = { item->text, strlen(item->text) }, name, inner, rest;
	int err;

	*ret = (struct event_group){ 0 };
	part__cut(all, '{', &name, &inner);
	if (!part__cut(inner, '}', &inner, &rest))
		return PART_ERROR(&p, all, "the group is not ended: a '}' is missing");
	if (rest.len && rest.s[0] == ':') {
		rest.s++;
		rest.len--;
		if (!rest.len)
			return PART_ERROR(&p, all, "modifiers are letters after the last ':'");
	}
	err = event_parser__check_modifiers(&p, rest);
	if (!err && name.len)
		err = part__dup(name, &ret->name);
	err = err ?: part__dup(rest, &ret->modifiers);
	return err ?: group_split(ret, &p, inner);
}

void event_group__free(struct event_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->items[i].text);
	free(g->items);
	free(g->name);
	free(g->modifiers);
}

/* Parse "rw" or "x": each letter once. */
static int breakpoint_access(struct event_parser *p, struct part access, uint32_t *ret)
{
	uint32_t type = 0;

	for (size_t i = 0; i < access.len; i++) {
		char c = access.s[i];
		uint32_t bit = c == 'r'	  ? HW_BREAKPOINT_R
			       : c == 'w' ? HW_BREAKPOINT_W
			       : c == 'x' ? HW_BREAKPOINT_X
					  : 0;

		if (!bit || type & bit)
			return PART_ERROR(p, access, "access to memory is r, w, rw or x");
		type |= bit;
	}
	*ret = type ?: HW_BREAKPOINT_RW;
	return 0;
}

static bool part_number(struct part part, uint64_t *ret)
{
	const char *why;

	return part.len && isdigit((unsigned char)part.s[0]) &&
	       !units__number(part.s, part.len, ret, &why);
}

int event_parser__breakpoint(struct event_parser *p)
{
	struct part all = { p->item->text + 4, strlen(p->item->text) - 4 };
	struct part place, addr, len, access, modifiers;
	struct perf_event_attr *a = &p->spec->attr;
	uint64_t bytes = 0, at;
	bool has_len;
	int err;

	part__cut(all, ':', &place, &access);
	part__cut(access, ':', &access, &modifiers);
	has_len = part__cut(place, '/', &addr, &len);
	p->modifiers = modifiers;
	if (!part_number(addr, &at))
		return PART_ERROR(p, addr, "a breakpoint is mem:ADDRESS, such as mem:0x1000:rw");
	if (has_len &&
	    (!part_number(len, &bytes) || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)))
		return PART_ERROR(p, len, "a breakpoint has 1, 2, 4 or 8 bytes");
	err = breakpoint_access(p, access, &a->bp_type);
	if (err)
		return err;
	a->type = PERF_TYPE_BREAKPOINT;
	a->bp_addr = at;
	a->bp_len = bytes ?: a->bp_type == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
	return 0;
}
