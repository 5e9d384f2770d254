/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Error messages with their place in a text: file:line:column, the line, a caret below the bad
 * token and, if known, the remedy. All errors of a file are collected, then printed once.
 */
#ifndef FRBPF_RULES_DIAG_H
#define FRBPF_RULES_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* One of the files that a text was read from. */
struct source_piece {
	char *name;   /* its path; owned */
	uint32_t off; /* offset of its first byte; it ends where the next one begins */
	bool for_all; /* its sessions are dumped by the rules of every file, not only by its own */
};

/* A text that messages point into: a configuration file, or a word of the command line. */
struct source_text {
	char *name; /* path or e.g. "--rules"; owned */
	char *text; /* NUL-terminated; owned */
	size_t len;
	struct source_piece *pieces; /* owned; NULL: it is one file */
	size_t n_pieces;
	bool made;		  /* frbpf made the text: the user cannot know its line numbers */
	struct source_text *next; /* the next text in the list of a struct diags */
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

#define DIAGS_MAX 100 /* messages kept; further ones are only counted */

struct diags {
	struct diag *v; /* owned; in the order they were added */
	size_t n;
	size_t n_errors;	  /* all errors, also those not kept */
	struct source_text *kept; /* owned, a list: texts whose parser failed */
	bool out_of_memory;	  /* a message could not be stored: counts as an error */
};

/*
 * Add an error about @span of @src (both optional). Cannot fail: see out_of_memory. Returns
 * -EINVAL.
 */
int diags__error(struct diags *d, const struct source_text *src, struct span span, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));
void diags__warn(struct diags *d, const struct source_text *src, struct span span, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));

/* Are there errors, or could a message not be stored? Warnings do not count. */
bool diags__failed(const struct diags *d);

/*
 * Own @src until diags__free(). For a parser that owns a text and fails: messages still point into
 * the text. NULL is legal.
 */
void diags__keep(struct diags *d, struct source_text *src);

/*
 * Append all messages to @out, in order of their place:
 *
 *	rules.conf:7:18: error: unknown unit 'mss' in '20mss' (did you mean 'ms'?)
 *	    7 | when = runqlat > 20mss
 *	      |                  ^^^^^
 *
 * The caret line keeps the tabs of the line, so that it aligns. Of a very long line only the part
 * around the place is shown. Bytes that a terminal may interpret are shown as '?'. Columns count
 * characters, from 1. 0 or -ENOMEM.
 */
int diags__format(const struct diags *d, struct buf *out);

/*
 * Get the line and column (in characters) of a message that has a source, in its file; both count
 * from 1.
 */
void diag__place(const struct diag *diag, size_t *ret_line, size_t *ret_column);

void diags__free(struct diags *d);

/*
 * Read @path (at most 1 MiB). 0 or negative errno. The caller reports NULs and invalid sizes.
 * source_text__free(NULL) is legal.
 */
int source_text__read(const char *path, struct source_text **ret);
/* Make a text from a string, e.g. an argument. 0 or -ENOMEM. */
int source_text__from_string(const char *name, const char *text, struct source_text **ret);
/* The same for a text that frbpf made, so that messages show no line number. */
int source_text__make(const char *name, const char *text, struct source_text **ret);
/*
 * Append a further file, @text of @len bytes; *ret_off is the offset of its first byte. 0, -ENOMEM
 * or -EFBIG.
 */
int source_text__append(struct source_text *src, const char *name, const char *text, size_t len,
			uint32_t *ret_off);
/* Copy a text with its pieces. 0 or -ENOMEM. */
int source_text__copy(const struct source_text *src, struct source_text **ret);
/* Make relative paths of the files of @src absolute; they are relative to @dir. 0 or -ENOMEM. */
int source_text__anchor(struct source_text *src, const char *dir);
/* Get the index of the piece that has @off; 0 if the text is one file. */
size_t source_text__piece(const struct source_text *src, uint32_t off);
/* Get the name of the file that has @off. */
const char *source_text__name_at(const struct source_text *src, uint32_t off);
void source_text__free(struct source_text *src);

#endif
