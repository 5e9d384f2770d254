/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Escapes texts that others chose (names of tasks, of files, conditions) for reports. Such a text
 * cannot begin a line, an element, a table cell or a command. Bytes that are not UTF-8, and
 * control characters, become '?'.
 */
#ifndef FRBPF_COMMON_ESCAPE_H
#define FRBPF_COMMON_ESCAPE_H

#include "common/buf.h"

/* All of these append to @b; 0 or -ENOMEM. */
int escape__xml(struct buf *b, const char *s);	    /* of an element or of an attribute */
int escape__markdown(struct buf *b, const char *s); /* of a paragraph or of a table's cell */
int escape__plain(struct buf *b, const char *s);    /* of a block of code, or of a JSON string */
int escape__shell(struct buf *b, const char *s);    /* one word of a command line */
int escape__github(struct buf *b, const char *s);   /* the message of a workflow command */
int escape__github_property(struct buf *b, const char *s);

#endif
