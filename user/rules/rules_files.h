/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads rules from several files: those of a list, and those that they include. They become one
 * text, with the files as its pieces. An included file follows the one that includes it.
 */
#ifndef FRBPF_RULES_RULES_FILES_H
#define FRBPF_RULES_RULES_FILES_H

#include <limits.h>

#include "common/err.h"
#include "rules/diag.h"

/* Separates the paths of a list, which is one string. */
#define RULES_FILES_SEPARATOR '\n'
#define RULES_FILES_LIST_MAX  16384 /* bytes of a list, with its NUL */

/*
 * Read the files of @list and those that they include. `include = FILE, ...` is before the first
 * section or in [daemon]. FILE is relative to the file that has the `include`, or @NAME. A file is
 * read once. If an included file includes itself, or cannot be read, that is an error at its place,
 * and *ret is set all the same. Returns 0, or negative errno with a message in @d if a file of the
 * list cannot be read.
 */
int rules_files__read(const char *list, struct diags *d, struct source_text **ret);

/*
 * Append the paths of all files that @src was read from, as a list, without those of a command
 * line. 0 or -ENOMEM.
 */
int rules_files__list(const struct source_text *src, struct buf *ret);

/* Format a list for people: "A, B", truncated to @size bytes with the NUL. */
void rules_files__describe(const char *list, char *ret, size_t size);

/* ---- files that are shipped with frbpf, by name: "@latency" ---- */

/*
 * Get the path for @arg, a path or "@NAME". Names are looked up in ../share/frbpf (installed) and
 * configs/ (built), relative to the program. 0, or -ENOENT with the known names in @err.
 */
int shipped_rules__path(const char *arg, char ret[static PATH_MAX], struct err *err);

#endif
