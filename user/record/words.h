/* SPDX-License-Identifier: GPL-2.0-only */
/* A line split into words as a shell would, each character with its place in the source. */
#ifndef FRBPF_RECORD_WORDS_H
#define FRBPF_RECORD_WORDS_H

#include "rules/diag.h"

struct word {
	char *text; /* without quotes; owned */
	size_t len;
	uint32_t *at; /* at[i]: offset of text[i] in the source; at[len]: just behind the word;
			 owned */
};

struct words {
	struct word *v; /* owned */
	size_t n;
};

/* Split @span of @src at blanks. 'text' is literal; "text" resolves \" and \\; elsewhere a
 * backslash makes the next character literal; a backslash and newline count as a blank. A value
 * that is one pair of double quotes is what is between them, because perf's configuration drops
 * these. 0, -EINVAL (a quote without its end, see @d) or -ENOMEM. words__free() in every case. */
int words__split(const struct source_text *src, struct span span, struct diags *d,
		 struct words *ret);
void words__free(struct words *w);

/* Where text[from, from + len) of @w stands in the source, quotes in between included. */
struct span word__span(const struct word *w, size_t from, size_t len);

#endif
