/* SPDX-License-Identifier: GPL-2.0-only */
/* The C in which a tracepoint's print format is written: its words, and its constants, as (1UL << 3) | 2. */
#ifndef FRBPF_DETECT_FORMAT_EXPR_H
#define FRBPF_DETECT_FORMAT_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum format_word_kind {
	FORMAT_END,
	FORMAT_NAME,
	FORMAT_NUMBER,
	FORMAT_STRING, /* what stands between the quotes, as it is */
	FORMAT_SIGN,   /* an operator or a bracket, of up to two characters */
};

/* Where a reader is in a text: it stands on one word. A copy of it is a place to come back to. */
struct format_words {
	const char *next, *end; /* of the text, not owned */
	enum format_word_kind kind;
	const char *s; /* the word, and its bytes */
	size_t len;
};

/* Stand on the first word of @text. */
void format_words__start(struct format_words *w, const char *text, size_t len);
void format_words__next(struct format_words *w);
/* Is it this name or sign? */
bool format_words__is(const struct format_words *w, const char *word);
/* Step over the word if it is that one. */
bool format_words__skip(struct format_words *w, const char *word);

/* The value of a constant that has a name. 0, -ENOENT, -ENOMEM. */
typedef int (*format_constant_fn)(const char *name, size_t len, void *arg, int64_t *ret);

/* Evaluate the constant expression at @w and stand behind it. All is calculated in 64 bits, and casts change nothing.
 * 0; -EINVAL: none that is understood; -ENOENT: @find does not know a name in it; -ENOMEM. */
int format_expr__eval(struct format_words *w, format_constant_fn find, void *arg, int64_t *ret);

#endif
