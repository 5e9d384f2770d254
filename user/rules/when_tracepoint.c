// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rules/target.h"
#include "rules/when_parse.h"

static int parse_tracepoint_name(struct when_parser *p, struct span system, struct span *ret_name)
{
	struct span name;

	if (!when_parser__at(p, ":"))
		return diags__error(p->d, p->src, system,
				    "the tracepoint is missing: write SYSTEM:NAME");
	p->pos++;
	name = when_parser__word(p);
	if (!name.len)
		return diags__error(p->d, p->src, when_parser__here(p),
				    "the name of a tracepoint is expected here");
	*ret_name = name;
	return 0;
}

/* Copy a word, which must fit into a target. 0 or -EINVAL. */
static int take_span_word(struct when_parser *p, struct span word, char ret[static SPAN_WORD_MAX])
{
	if (word.len >= SPAN_WORD_MAX)
		return diags__error(p->d, p->src, word, "this is too long: at most %d bytes",
				    SPAN_WORD_MAX - 1);
	memcpy(ret, p->src->text + word.off, word.len);
	ret[word.len] = '\0';
	return 0;
}

static int take_tracepoint(struct when_parser *p, struct span system, struct span name,
			   char ret[static SPAN_WORD_MAX])
{
	char a[SPAN_WORD_MAX], b[SPAN_WORD_MAX];

	if (take_span_word(p, system, a) || take_span_word(p, name, b))
		return -EINVAL;
	if (strlen(a) + strlen(b) + 1 >= SPAN_WORD_MAX)
		return diags__error(p->d, p->src, system, "this is too long");
	strcpy(ret, a);
	strcat(ret, ":");
	strcat(ret, b);
	return 0;
}

/* Parse "NAME", or "NAME = NAME" if start and end have different names for it. */
static int parse_span_key(struct when_parser *p, struct span_target *t)
{
	struct span name = when_parser__word(p);

	if (!name.len)
		return diags__error(p->d, p->src, when_parser__here(p),
				    "a key is expected here: an argument that both ends have, or "
				    "tid, pid, cpu");
	if (t->n_keys == FRBPF_SPAN_KEYS)
		return diags__error(p->d, p->src, name, "a span has at most %d keys",
				    FRBPF_SPAN_KEYS);
	if (take_span_word(p, name, t->keys[t->n_keys].start))
		return -EINVAL;
	strcpy(t->keys[t->n_keys].end, t->keys[t->n_keys].start);
	if (when_parser__at(p, "=") && !when_parser__at(p, "==")) {
		p->pos++;
		name = when_parser__word(p);
		if (!name.len)
			return diags__error(
				p->d, p->src, when_parser__here(p),
				"the name of this key at the span's end is expected here");
		if (take_span_word(p, name, t->keys[t->n_keys].end))
			return -EINVAL;
	}
	t->n_keys++;
	return 0;
}

/* Parse "nested" after the keys, if it is there. */
static int parse_nested(struct when_parser *p, struct span_target *t)
{
	struct span word;

	if (p->pos == p->end || when_parser__at(p, ">"))
		return 0;
	word = when_parser__word(p);
	t->nested = text__equals(p->src, word, "nested");
	if (t->nested)
		return 0;
	if (!word.len)
		word = when_parser__here(p);
	return diags__error(p->d, p->src, word,
			    "',', 'nested' or '>' is expected here, not " QUOTED,
			    QUOTE_SPAN(p->src, word));
}

int when_parser__span_keys(struct when_parser *p, struct span_target *t)
{
	struct when_parser q = *p;
	struct span by = when_parser__word(&q);
	int err;

	if (!text__equals(p->src, by, "by"))
		return diags__error(p->d, p->src, when_parser__here(p),
				    "'by' and the keys that both ends have in common are expected "
				    "here, such as by tid");
	*p = q;
	for (;;) {
		err = parse_span_key(p, t);
		if (err)
			return err;
		if (!when_parser__at(p, ","))
			return parse_nested(p, t);
		p->pos++;
	}
}

static int parse_span(struct when_parser *p, struct span system, struct span name, struct when *ret)
{
	struct span_target t = { .n_keys = 0 };
	struct span end;
	int err = take_tracepoint(p, system, name, t.start);

	if (err)
		return err;
	p->pos += strlen("->");
	system = when_parser__word(p);
	if (!system.len)
		return diags__error(p->d, p->src, when_parser__here(p),
				    "the tracepoint at the end of the span is expected here");
	if (text__equals(p->src, system, "uprobe") || text__equals(p->src, system, "usdt"))
		return diags__error(p->d, p->src, system,
				    "a span that starts at a tracepoint must end at one");
	err = parse_tracepoint_name(p, system, &end);
	err = err ?: take_tracepoint(p, system, end, t.end);
	err = err ?: when_parser__span_keys(p, &t);
	err = err ?: when_parser__threshold(p, ret);
	if (err)
		return err;
	ret->source = FRBPF_SOURCE_SPAN;
	ret->target = span_target__format(&t);
	return ret->target ? 0 : -ENOMEM;
}

/* Parse SYSTEM:NAME, or a span that starts with it. The kernel is asked about it later. */
int when__parse_tracepoint(struct when_parser *p, struct span name, struct when *ret)
{
	struct span tracepoint, here;
	int err;

	/* "tracepoint:SYSTEM:NAME" means the same as SYSTEM:NAME */
	if (text__equals(p->src, name, "tracepoint") && when_parser__at(p, ":")) {
		p->pos++;
		name = when_parser__word(p);
	}
	err = parse_tracepoint_name(p, name, &tracepoint);
	if (err)
		return err;
	if (when_parser__at(p, "->"))
		return parse_span(p, name, tracepoint, ret);
	if (when_parser__at(p, ">"))
		return diags__error(p->d, p->src, when_parser__rest(p),
				    "a tracepoint takes no time; for the time between two, write "
				    "A:start -> B:end by KEY > 50ms");
	if (p->pos < p->end) {
		here = when_parser__rest(p);
		return diags__error(p->d, p->src, here,
				    "nothing may follow a tracepoint: the rule fires whenever it "
				    "is hit, and conditions belong in 'if'");
	}
	ret->hit = true;
	if (asprintf(&ret->target, "%.*s:%.*s", (int)name.len, p->src->text + name.off,
		     (int)tracepoint.len, p->src->text + tracepoint.off) < 0) {
		ret->target = NULL;
		return -ENOMEM;
	}
	return 0;
}
