// SPDX-License-Identifier: GPL-2.0-only
/* pending(SOURCE) > T: what has begun so long ago and has not ended. */
#include <errno.h>

#include "rules/when_parse.h"

/* The parenthesis that closes the one here; the end: none does. */
static uint32_t find_closing(const struct when_parser *p)
{
	uint32_t depth = 0;

	for (uint32_t at = p->pos; at < p->end; at++) {
		if (p->src->text[at] == '(')
			depth++;
		else if (p->src->text[at] == ')' && !--depth)
			return at;
	}
	return p->end;
}

/* The text between the parentheses: where it ends, and the parser stands at its beginning. */
static int enter_parentheses(struct when_parser *p, struct span name, uint32_t *ret_close)
{
	uint32_t close;

	if (!when_parser__at(p, "("))
		return diags__error(p->d, p->src, name,
				    "of what? write pending(SOURCE) > 5s, such as "
				    "pending(blocked) > 5s");
	close = find_closing(p);
	if (close == p->end)
		return diags__error(p->d, p->src, (struct span){ p->pos, 1 },
				    "')' is missing for this");
	p->pos++;
	when_parser__skip_blanks(p);
	*ret_close = close;
	return 0;
}

static int check_pending(const struct when_parser *p, struct span span, const struct when *when)
{
	const struct when_source_desc *source = when__source(when->source);

	if (source->has_pending)
		return 0;
	return diags__error(p->d, p->src, span,
			    "of the source '%s' nothing is pending: 'pending' takes one that says "
			    "how long something took",
			    source->name);
}

int when__parse_pending(struct when_parser *p, struct span name, struct when *ret)
{
	struct when_parser inner = *p;
	struct when when = { 0 };
	struct span span;
	uint32_t close = 0;
	int err = enter_parentheses(&inner, name, &close);

	if (err)
		return err;
	inner.end = close;
	inner.open = true;
	span = when_parser__rest(&inner);
	err = when_parser__source(&inner, &when);
	p->failed |= inner.failed;
	err = err ?: check_pending(p, span, &when);
	if (!err) {
		p->pos = close + 1;
		when_parser__skip_blanks(p);
		when.pending = true;
		err = when_parser__threshold(p, &when.threshold);
	}
	if (err) {
		when__free(&when);
		return err;
	}
	*ret = when;
	return 0;
}
