/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the C code in the print format of a tracepoint: words, and constant expressions such as
 * (1UL << 3) | 2.
 */
#ifndef FRBPF_DETECT_FORMAT_EXPR_H
#define FRBPF_DETECT_FORMAT_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum format_word_kind {
	FORMAT_END,
	FORMAT_NAME,
	FORMAT_NUMBER,
	FORMAT_STRING, /* the text between the quotes, with its escapes */
	FORMAT_SIGN,   /* an operator or a bracket, of up to two characters */
};

/* The position of a reader, on one word. To return to a position, keep a copy of it. */
struct format_words {
	const char *next, *end; /* of the text; borrowed */
	enum format_word_kind kind;
	const char *s; /* the word; @len is its number of bytes */
	size_t len;
};

/* Go to the first word of @text. */
void format_words__start(struct format_words *w, const char *text, size_t len);
/* Go to the next word; after the last one, to FORMAT_END. */
void format_words__next(struct format_words *w);

/* Is the current word the name or sign @word? */
bool format_words__is(const struct format_words *w, const char *word);
/* If the current word is @word, skip it and return true. */
bool format_words__skip(struct format_words *w, const char *word);

/* Get the value of a named constant. 0, -ENOENT or -ENOMEM. */
typedef int (*format_constant_fn)(const char *name, size_t len, void *arg, int64_t *ret);

/*
 * Evaluate the constant expression at @w and go past it. Calculates in 64 bits and ignores casts.
 * 0; -EINVAL: not understood; -ENOENT: @find does not know a name; or -ENOMEM.
 */
int format_expr__eval(struct format_words *w, format_constant_fn find, void *arg, int64_t *ret);

#endif
