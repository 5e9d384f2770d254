// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rules/when_parse.h"

int when_parser__tracepoint(struct when_parser *p, struct span system, struct span *ret_name)
{
	struct span name;

	if (!when_parser__at(p, ":"))
		return diags__error(p->d, p->src, system, "which tracepoint? write SYSTEM:NAME");
	p->pos++;
	name = when_parser__word(p);
	if (!name.len)
		return diags__error(p->d, p->src, when_parser__here(p),
				    "the name of a tracepoint is expected here");
	*ret_name = name;
	return 0;
}

/* SYSTEM:NAME. What the kernel knows of it is asked later. */
int when__parse_tracepoint(struct when_parser *p, struct span name, struct when *ret)
{
	struct span tracepoint, here;
	int err;

	/* "tracepoint:SYSTEM:NAME" says no more than SYSTEM:NAME */
	if (text__equals(p->src, name, "tracepoint") && when_parser__at(p, ":")) {
		p->pos++;
		name = when_parser__word(p);
	}
	err = when_parser__tracepoint(p, name, &tracepoint);
	if (err)
		return err;
	if (when_parser__at(p, "->"))
		return when_parser__span(p, name, tracepoint, ret);
	if (when_parser__at(p, ">"))
		return diags__error(
			p->d, p->src, when_parser__rest(p),
			"a tracepoint is hit, it takes no time; for the time between two "
			"write A:start -> B:end by KEY > 50ms");
	if (p->pos < p->end) {
		here = when_parser__rest(p);
		return diags__error(
			p->d, p->src, here,
			"nothing may follow a tracepoint: the rule fires whenever it is "
			"hit, and conditions stand in 'if'");
	}
	ret->hit = true;
	if (asprintf(&ret->target, "%.*s:%.*s", (int)name.len, p->src->text + name.off,
		     (int)tracepoint.len, p->src->text + tracepoint.off) < 0) {
		ret->target = NULL;
		return -ENOMEM;
	}
	return 0;
}
