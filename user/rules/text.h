/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parsers of the rules language share: blanks, places, and quoting a text in a message. */
#ifndef FRBPF_RULES_TEXT_H
#define FRBPF_RULES_TEXT_H

#include "common/printable.h"
#include "rules/diag.h"

/* For a format and its arguments: a piece of the user's text in quotes, cut when it is long. */
#define QUOTE_MAX	      64
#define QUOTED		      "'%.*s%s'"
#define QUOTE_LEN(n)	      (int)((n) < QUOTE_MAX ? (n) : QUOTE_MAX)
#define QUOTE(s, n)	      QUOTE_LEN(n), (s), (n) > QUOTE_MAX ? "..." : ""
#define QUOTE_SPAN(src, span) QUOTE((src)->text + (span).off, (span).len)

/* For the same: the nearest word, if there is one. */
#define DID_YOU_MEAN "%s%s%s"
#define SUGGEST(nearest)                                                                           \
	(nearest) ? " (did you mean '" : "", (nearest) ? (nearest) : "", (nearest) ? "'?)" : ""

/* Bytes of the blank at @pos, 0 for none. A continued line's backslash and newline are one. */
size_t text__blank(const struct source_text *src, uint32_t pos, uint32_t end);
/* Where the blanks at @pos end. */
uint32_t text__skip_blanks(const struct source_text *src, uint32_t pos, uint32_t end);
struct span text__trim(const struct source_text *src, struct span span);

bool text__equals(const struct source_text *src, struct span span, const char *word);

/* A copy in which each run of blanks outside of double quotes is one blank. NULL: out of memory. */
char *text__fold(const struct source_text *src, struct span span);

/* The line of @off, counted from 1. */
size_t text__line(const struct source_text *src, uint32_t off);

/* units__duration() and units__size_or_percent() with their errors at @span. 0 or -EINVAL. */
int text__duration(const struct source_text *src, struct span span, struct diags *d,
		   uint64_t *ret_ns);
int text__size(const struct source_text *src, struct span span, struct diags *d, uint64_t whole,
	       uint64_t *ret_bytes);

#endif
