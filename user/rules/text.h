/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the parsers of the rules language: blanks, places, and quoting the user's text. */
#ifndef FRBPF_RULES_TEXT_H
#define FRBPF_RULES_TEXT_H

#include "common/printable.h"
#include "rules/diag.h"

/* Format and arguments to quote a part of the user's text, truncated if it is long. */
#define QUOTE_MAX	      64
#define QUOTED		      "'%.*s%s'"
#define QUOTE_LEN(n)	      (int)((n) < QUOTE_MAX ? (n) : QUOTE_MAX)
#define QUOTE(s, n)	      QUOTE_LEN(n), (s), (n) > QUOTE_MAX ? "..." : ""
#define QUOTE_SPAN(src, span) QUOTE((src)->text + (span).off, (span).len)

/* Format and arguments to suggest the nearest word, if there is one. */
#define DID_YOU_MEAN "%s%s%s"
#define SUGGEST(nearest)                                                                           \
	(nearest) ? " (did you mean '" : "", (nearest) ? (nearest) : "", (nearest) ? "'?)" : ""

/*
 * Get the number of bytes of the blank at @pos; 0: none. A backslash and newline, which continue a
 * line, are one blank.
 */
size_t text__blank(const struct source_text *src, uint32_t pos, uint32_t end);
/* Get the end of the blanks at @pos. */
uint32_t text__skip_blanks(const struct source_text *src, uint32_t pos, uint32_t end);
/* Get the word at *pos, up to a blank or @sep, and move *pos to what follows it and its blanks. */
struct span text__next_word(const struct source_text *src, uint32_t *pos, uint32_t end, char sep);
struct span text__trim(const struct source_text *src, struct span span);

/* Is the text at @span exactly @word? */
bool text__equals(const struct source_text *src, struct span span, const char *word);

/*
 * Copy the text with each run of blanks outside double quotes as one blank. Owned by the caller.
 * NULL: out of memory.
 */
char *text__fold(const struct source_text *src, struct span span);

/*
 * Does @value stay one line of a rules file? With a line break, or a backslash at its end, it could
 * add a key or continue in the next line.
 */
bool text__is_one_line(const char *value);

/* Get the line of @off, counted from 1. */
size_t text__line(const struct source_text *src, uint32_t off);

/*
 * As units__duration() and units__size_or_percent(), but errors go to @d, at @span. 0 or -EINVAL.
 */
int text__duration(const struct source_text *src, struct span span, struct diags *d,
		   uint64_t *ret_ns);
int text__size(const struct source_text *src, struct span span, struct diags *d, uint64_t whole,
	       uint64_t *ret_bytes);

#endif
