// SPDX-License-Identifier: GPL-2.0-only
/* pending(SOURCE) > T: began T ago and has not ended. absent(SOURCE) > T: no event for T. */
#include <errno.h>
#include <string.h>

#include "common/buf.h"
#include "rules/when_parse.h"

/* Find the parenthesis that closes this one; the end of the text: there is none. */
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

/* Enter the parentheses: the parser is at the text inside, and *ret_close is its end. */
static int enter_parentheses(struct when_parser *p, struct span name, uint32_t *ret_close)
{
	uint32_t close;

	if (!when_parser__at(p, "("))
		return diags__error(p->d, p->src, name,
				    "the source is missing: write %.*s(SOURCE) > 5s", (int)name.len,
				    p->src->text + name.off);
	close = find_closing(p);
	if (close == p->end)
		return diags__error(p->d, p->src, (struct span){ p->pos, 1 },
				    "the ')' of this '(' is missing");
	p->pos++;
	when_parser__skip_blanks(p);
	*ret_close = close;
	return 0;
}

/* List the sources as "runqlat, blocked, ...". Adjacent entries of the table may share a name. */
static int pending_sources(struct buf *ret)
{
	int err = 0;

	for (const struct when_source_desc *s = when_sources; s->name && !err; s++) {
		if (s->has_pending && (s == when_sources || strcmp(s->name, s[-1].name) != 0))
			err = buf__printf(ret, "%s%s", ret->len ? ", " : "", s->name);
	}
	return err;
}

/* Can the source in the parentheses be pending or absent? */
static int check_inner(const struct when_parser *p, struct span span, enum when_open open,
		       const struct when *when)
{
	const struct when_source_desc *source = when__source(when->source);
	struct buf known = { 0 };
	int err;

	if (open == OPEN_ABSENT && when->source == FRBPF_SOURCE_PSI)
		return diags__error(p->d, p->src, span,
				    "the kernel reports pressure only while there is some: its "
				    "absence cannot be watched");
	if (open == OPEN_ABSENT || source->has_pending)
		return 0;
	err = pending_sources(&known)
		      ?: diags__error(p->d, p->src, span,
				      "'pending' does not work with '%s': it takes %s",
				      source->name, known.data);
	buf__free(&known);
	return err;
}

int when_parser__in_parentheses(struct when_parser *p, struct span name, enum when_open open,
				struct when *ret)
{
	struct when_parser inner = *p;
	struct when when = { 0 };
	struct span span;
	uint32_t close = 0;
	int err = enter_parentheses(&inner, name, &close);

	if (err)
		return err;
	inner.end = close;
	inner.open = open;
	span = when_parser__rest(&inner);
	err = when_parser__source(&inner, &when);
	p->failed |= inner.failed;
	err = err ?: check_inner(p, span, open, &when);
	if (!err) {
		p->pos = close + 1;
		when_parser__skip_blanks(p);
		when.pending = open == OPEN_PENDING;
		err = when_parser__duration(p, when.pending ? &when.threshold : &when.silence);
	}
	if (err) {
		when__free(&when);
		return err;
	}
	*ret = when;
	return 0;
}
