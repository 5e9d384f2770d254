/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is wrong with a text, and where: file:line:column, the line itself, a caret below the bad
 * token and, where there is one, the remedy. All errors of a file are collected, then printed once.
 */
#ifndef FRBPF_RULES_DIAG_H
#define FRBPF_RULES_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* A file of a text that was read from several. */
struct source_piece {
	char *name;   /* its path; owned */
	uint32_t off; /* where it begins; it ends where the next one does */
	bool for_all; /* its sessions are those of every file's rules */
};

/* A text that messages point into: a configuration file, or a word of the command line. */
struct source_text {
	char *name; /* path or e.g. "--rules"; owned */
	char *text; /* NUL terminated; owned */
	size_t len;
	struct source_piece *pieces; /* owned; NULL: it is one file */
	size_t n_pieces;
	bool made;		  /* by us: the numbers of its lines mean nothing to anybody */
	struct source_text *next; /* of those that a struct diags keeps */
};

/* Bytes [off, off + len) of a source_text. */
struct span {
	uint32_t off;
	uint32_t len;
};

enum diag_level { DIAG_ERROR, DIAG_WARNING };

struct diag {
	enum diag_level level;
	const struct source_text *src; /* borrowed; NULL for a message without a place */
	struct span span;
	char *msg; /* owned */
};

#define DIAGS_MAX 100 /* messages kept; further ones are counted and their number is told */

struct diags {
	struct diag *v; /* owned; in the order they were added */
	size_t n;
	size_t n_errors;	  /* all errors, also those not kept */
	struct source_text *kept; /* owned, a list: texts whose parser failed */
	bool out_of_memory;	  /* a message could not be stored: counts as an error */
};

/* Add a message about @span of @src (both optional). Never fails: see out_of_memory. Returns
 * -EINVAL. */
int diags__error(struct diags *d, const struct source_text *src, struct span span, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));
void diags__warn(struct diags *d, const struct source_text *src, struct span span, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));

bool diags__failed(const struct diags *d);

/* Take @src over until diags__free(): for a parser that owns a text and fails, so that the messages
 * can still point into it. NULL is legal. */
void diags__keep(struct diags *d, struct source_text *src);

/* Append all of them to @out, in order of place:
 *	rules.conf:7:18: error: unknown unit 'mss' in '20mss' (did you mean 'ms'?)
 *	    7 | when = runqlat > 20mss
 *	      |                  ^^^^^
 * Tabs of the line are kept in the caret line so that it aligns; of a very long line the part
 * around the place is shown; what a terminal could take for a command is shown as '?'. Columns
 * count characters, from 1. 0 or -ENOMEM. */
int diags__format(const struct diags *d, struct buf *out);

/* Where a message with a source stands, in its file: its line and column (in characters), both from 1. */
void diag__place(const struct diag *diag, size_t *ret_line, size_t *ret_column);

void diags__free(struct diags *d);

/* Read @path (at most 1 MiB). 0 or negative errno; NULs and invalid sizes are errors for the caller
 * to report. source_text__free(NULL) is legal. */
int source_text__read(const char *path, struct source_text **ret);
/* Make one of a string, e.g. an argument. 0 or -ENOMEM. */
int source_text__from_string(const char *name, const char *text, struct source_text **ret);
/* One that we made of what was given without lines. */
int source_text__make(const char *name, const char *text, struct source_text **ret);
/* Put a further file, @text of @len bytes, behind the others; *ret_off is where it begins. -ENOMEM,
 * or -EFBIG. */
int source_text__append(struct source_text *src, const char *name, const char *text, size_t len,
			uint32_t *ret_off);
/* The same once more, with its pieces. 0 or -ENOMEM. */
int source_text__copy(const struct source_text *src, struct source_text **ret);
/* Make the paths of its files absolute, as they are seen from @dir. 0 or -ENOMEM. */
int source_text__anchor(struct source_text *src, const char *dir);
/* The index of the piece that @off is in; 0 for one file. */
size_t source_text__piece(const struct source_text *src, uint32_t off);
/* The name of the file that @off is in. */
const char *source_text__name_at(const struct source_text *src, uint32_t off);
void source_text__free(struct source_text *src);

/* The word of @words (NULL terminated) nearest to @word by edit distance, or NULL when none is near
 * enough to be meant (distance at most 2 and less than half of the word's length). */
const char *nearest_word(const char *word, size_t len, const char *const *words);

#endif
