/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes texts that others chose (names of tasks, of files, reasons) safe for terminals, logs and
 * reports. */
#ifndef FRBPF_COMMON_PRINTABLE_H
#define FRBPF_COMMON_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

/*
 * Length of the character at @s, which has @len bytes, at least one. Not printable are: control
 * characters (C0, C1), marks that change the writing direction or are invisible, and invalid UTF-8
 * (RFC 3629), which counts as one byte.
 */
size_t printable__char(const char *s, size_t len, bool *ret_printable);

/* Replace each byte that is not part of a printable character by '?', in place. Returns @s. */
char *make_printable(char *s);

/*
 * ---- for reports ----
 * An escaped text cannot begin a line, an element, a table cell or a command. What is not printable
 * becomes '?'.
 */

/* All of these append to @b; 0 or -ENOMEM. */
int escape__xml(struct buf *b, const char *s);	    /* of an element or of an attribute */
int escape__markdown(struct buf *b, const char *s); /* of a paragraph or of a table's cell */
int escape__plain(struct buf *b, const char *s);    /* of a block of code, or of a JSON string */
int escape__shell(struct buf *b, const char *s);    /* one word of a command line */
int escape__github(struct buf *b, const char *s);   /* the message of a workflow command */
int escape__github_property(struct buf *b, const char *s);

#endif
