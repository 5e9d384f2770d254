/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules that stand in several files: those of a list, and those that they include. They become one
 * text, with the files as its pieces: an included file follows the one that includes it.
 */
#ifndef FRBPF_RULES_RULES_FILES_H
#define FRBPF_RULES_RULES_FILES_H

#include "rules/diag.h"

/* Between the paths of a list, which is one string. */
#define RULES_FILES_SEPARATOR '\n'
#define RULES_FILES_LIST_MAX  16384 /* bytes of a list, with its NUL */

/*
 * Read the files of @list and what they include: `include = FILE, ...` before the first section or
 * in [daemon], relative to the file that it stands in, or @NAME. A file that is there already is
 * left out. One that includes itself, or that cannot be read, is an error at its place: *ret is set
 * all the same. Negative errno, with words in @d, when a file of the list cannot be read.
 */
int rules_files__read(const char *list, struct diags *d, struct source_text **ret);

/* The paths of all files that @src was read from, as a list; what is of a command line is not one.
 * 0 or -ENOMEM. */
int rules_files__list(const struct source_text *src, struct buf *ret);

/* The same in words: "A, B". At most @size bytes, with the NUL. */
void rules_files__describe(const char *list, char *ret, size_t size);

#endif
