// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/words.h"

struct splitter {
	const struct source_text *src;
	uint32_t pos, end;
	struct word *word; /* the current word; NULL between words */
};

static bool is_word_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

static bool at_continuation(const struct splitter *s)
{
	return s->src->text[s->pos] == '\\' && s->pos + 1 < s->end &&
	       s->src->text[s->pos + 1] == '\n';
}

static void put_char(struct splitter *s, char c, uint32_t at)
{
	s->word->text[s->word->len] = c;
	s->word->at[s->word->len++] = at;
}

/* Allocate for the longest word, the rest of the line; end_word() frees what is left over. */
static int begin_word(struct splitter *s, struct words *w)
{
	struct word *v = realloc(w->v, (w->n + 1) * sizeof(*v));
	size_t cap = s->end - s->pos + 1;

	if (!v)
		return -ENOMEM;
	w->v = v;
	s->word = &v[w->n++];
	*s->word = (struct word){ 0 };
	s->word->text = malloc(cap);
	s->word->at = malloc(cap * sizeof(*s->word->at));
	return s->word->text && s->word->at ? 0 : -ENOMEM;
}

static void end_word(struct splitter *s)
{
	struct word *w = s->word;
	void *p;

	w->text[w->len] = '\0';
	w->at[w->len] = s->pos;
	p = realloc(w->text, w->len + 1);
	if (p)
		w->text = p;
	p = realloc(w->at, (w->len + 1) * sizeof(*w->at));
	if (p)
		w->at = p;
	s->word = NULL;
}

/* Read from after the opening quote to after the closing one. */
static int read_quoted_word(struct splitter *s, char quote, struct diags *d)
{
	const char *text = s->src->text;
	uint32_t open = s->pos - 1;

	while (s->pos < s->end && text[s->pos] != quote) {
		if (at_continuation(s)) {
			put_char(s, ' ', s->pos);
			s->pos += 2;
			continue;
		}
		if (quote == '"' && text[s->pos] == '\\' && s->pos + 1 < s->end &&
		    strchr("\"\\", text[s->pos + 1]))
			s->pos++;
		put_char(s, text[s->pos], s->pos);
		s->pos++;
	}
	if (s->pos == s->end)
		return diags__error(d, s->src, (struct span){ open, 1 },
				    "this %c is not closed: close it, or put a \\ before it",
				    quote);
	s->pos++;
	return 0;
}

static int one_word(struct splitter *s, struct diags *d)
{
	const char *text = s->src->text;
	int err;

	while (s->pos < s->end && !is_word_blank(text[s->pos]) && !at_continuation(s)) {
		char c = text[s->pos++];

		if (c == '\'' || c == '"') {
			err = read_quoted_word(s, c, d);
			if (err)
				return err;
			continue;
		}
		if (c == '\\' && s->pos < s->end)
			c = text[s->pos++];
		put_char(s, c, s->pos - 1);
	}
	return 0;
}

static struct span strip_quotes(const struct source_text *src, struct span span)
{
	const char *first = src->text + span.off;

	if (span.len >= 2 && first[0] == '"' &&
	    memchr(first + 1, '"', span.len - 1) == first + span.len - 1)
		return (struct span){ span.off + 1, span.len - 2 };
	return span;
}

int words__split(const struct source_text *src, struct span span, struct diags *d,
		 struct words *ret)
{
	struct splitter s = { .src = src };
	int err;

	*ret = (struct words){ 0 };
	span = strip_quotes(src, span);
	s.pos = span.off;
	s.end = span.off + span.len;
	for (;;) {
		while (s.pos < s.end && (is_word_blank(src->text[s.pos]) || at_continuation(&s)))
			s.pos += at_continuation(&s) ? 2 : 1;
		if (s.pos == s.end)
			return 0;
		err = begin_word(&s, ret);
		err = err ?: one_word(&s, d);
		if (err)
			return err;
		end_word(&s);
	}
}

void words__free(struct words *w)
{
	for (size_t i = 0; i < w->n; i++) {
		free(w->v[i].text);
		free(w->v[i].at);
	}
	free(w->v);
	*w = (struct words){ 0 };
}

struct span word__span(const struct word *w, size_t from, size_t len)
{
	return (struct span){ w->at[from], len ? w->at[from + len - 1] + 1 - w->at[from] : 0 };
}
