/* SPDX-License-Identifier: GPL-2.0-only */
/* Splits a line into words as a shell does, and keeps the place of each character in the source. */
#ifndef FRBPF_RECORD_WORDS_H
#define FRBPF_RECORD_WORDS_H

#include "rules/diag.h"

struct word {
	char *text; /* without quotes; owned */
	size_t len;
	/* at[i]: offset of text[i] in the source; at[len]: just after the word; owned */
	uint32_t *at;
};

struct words {
	struct word *v; /* owned */
	size_t n;
};

/*
 * Split @span of @src at blanks. 'text' is literal; "text" resolves \" and \\; elsewhere a
 * backslash makes the next character literal. A backslash and newline count as a blank. If one pair
 * of double quotes encloses the value, it is dropped, as in perf's configuration. 0, -EINVAL (a
 * quote is not closed, see @d) or -ENOMEM. Call words__free() in every case.
 */
int words__split(const struct source_text *src, struct span span, struct diags *d,
		 struct words *ret);
void words__free(struct words *w);

/* Get the place of text[from, from + len) of @w in the source, with quotes inside it. */
struct span word__span(const struct word *w, size_t from, size_t len);

#endif
