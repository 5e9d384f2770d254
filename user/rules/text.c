// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/nearest_word.h"
#include "rules/text.h"
#include "rules/units.h"

size_t text__blank(const struct source_text *src, uint32_t pos, uint32_t end)
{
	const char *s = src->text + pos;
	size_t left = end - pos;

	if (!left)
		return 0;
	if (isspace((unsigned char)s[0]))
		return 1;
	if (s[0] == '\\' && pos + 1 == src->len)
		return 1; /* a backslash at the end of the text */
	if (left >= 2 && s[0] == '\\' && s[1] == '\n')
		return 2;
	if (left >= 3 && s[0] == '\\' && s[1] == '\r' && s[2] == '\n')
		return 3;
	return 0;
}

uint32_t text__skip_blanks(const struct source_text *src, uint32_t pos, uint32_t end)
{
	size_t n;

	while ((n = text__blank(src, pos, end)))
		pos += n;
	return pos;
}

struct span text__next_word(const struct source_text *src, uint32_t *pos, uint32_t end, char sep)
{
	struct span word = { .off = text__skip_blanks(src, *pos, end) };
	uint32_t p = word.off;

	while (p < end && src->text[p] != sep && !text__blank(src, p, end))
		p++;
	word.len = p - word.off;
	*pos = text__skip_blanks(src, p, end);
	return word;
}

struct span text__trim(const struct source_text *src, struct span span)
{
	uint32_t end = span.off + span.len;
	uint32_t pos = text__skip_blanks(src, span.off, end), last = pos;

	span.off = pos;
	while (pos < end) {
		size_t n = text__blank(src, pos, end);

		pos += n ? n : 1;
		if (!n)
			last = pos;
	}
	span.len = last - span.off;
	return span;
}

bool text__equals(const struct source_text *src, struct span span, const char *word)
{
	return span.len == strlen(word) && !memcmp(src->text + span.off, word, span.len);
}

char *text__fold(const struct source_text *src, struct span span)
{
	uint32_t pos = span.off, end = span.off + span.len;
	char *out = malloc((size_t)span.len + 1);
	bool quote = false, blank = false;
	size_t len = 0;

	if (!out)
		return NULL;
	while (pos < end) {
		size_t n = text__blank(src, pos, end);

		if (n && (!quote || n > 1)) {
			pos += n;
			blank = len > 0 && !quote;
			continue;
		}
		if (blank)
			out[len++] = ' ';
		blank = false;
		if (src->text[pos] == '"')
			quote = !quote;
		if (src->text[pos] == '\\' && pos + 1 < end)
			out[len++] = src->text[pos++];
		out[len++] = src->text[pos++];
	}
	out[len] = '\0';
	return out;
}

size_t text__line(const struct source_text *src, uint32_t off)
{
	const char *end = src->text + off, *p = src->text;
	size_t line = 1;

	if (src->n_pieces)
		p += src->pieces[source_text__piece(src, off)].off;
	while ((p = memchr(p, '\n', end - p))) {
		p++;
		line++;
	}
	return line;
}

/* Get the unit after the digits of a number. */
static struct span unit_of(const struct source_text *src, struct span span)
{
	const char *s = src->text + span.off;
	uint32_t n = 0;

	while (n < span.len && (isdigit((unsigned char)s[n]) || s[n] == '.'))
		n++;
	return (struct span){ span.off + n, span.len - n };
}

/* Report why units.c rejects @span; for an unknown unit, suggest the nearest. */
static int bad_number(const struct source_text *src, struct span span, struct diags *d,
		      const char *what, const char *const *units, const char *why)
{
	struct span unit = unit_of(src, span);
	const char *nearest;

	if (why != units_unknown)
		return diags__error(d, src, span, "bad %s " QUOTED ": %s", what,
				    QUOTE_SPAN(src, span), why);
	nearest = nearest_word(src->text + unit.off, unit.len, units);
	if (nearest)
		return diags__error(d, src, span,
				    "unknown unit " QUOTED " in " QUOTED " (did you mean '%s'?)",
				    QUOTE_SPAN(src, unit), QUOTE_SPAN(src, span), nearest);
	return diags__error(d, src, span,
			    "unknown unit " QUOTED " in " QUOTED ": a %s has one of %s",
			    QUOTE_SPAN(src, unit), QUOTE_SPAN(src, span), what,
			    units == units_of_size ? "B K M G" : "ns us ms s m h d");
}

int text__duration(const struct source_text *src, struct span span, struct diags *d,
		   uint64_t *ret_ns)
{
	const char *why;

	if (!units__duration(src->text + span.off, span.len, ret_ns, &why))
		return 0;
	return bad_number(src, span, d, "duration", units_of_duration, why);
}

int text__size(const struct source_text *src, struct span span, struct diags *d, uint64_t whole,
	       uint64_t *ret_bytes)
{
	const char *why;

	if (!units__size_or_percent(src->text + span.off, span.len, whole, ret_bytes, &why))
		return 0;
	return bad_number(src, span, d, "size", units_of_size, why);
}

bool text__is_one_line(const char *value)
{
	size_t len = strlen(value);

	return !strpbrk(value, "\r\n") && (!len || value[len - 1] != '\\');
}
