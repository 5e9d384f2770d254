/* SPDX-License-Identifier: GPL-2.0-only */
/* A long text in pieces that end where a line does: it never is in memory as a whole. */
#ifndef FRBPF_SYMBOLS_TEXT_CHUNKS_H
#define FRBPF_SYMBOLS_TEXT_CHUNKS_H

#include "common/buf.h"

/* Read @fd to its end, at most @max bytes, and give @fn one piece after the other, until it returns
 * non-zero, which is returned. Else 0, -errno, -ENOMEM, -EFBIG (more than @max). A line that
 * is longer than a piece comes in several. */
int text_chunks__each(int fd, size_t max, int (*fn)(const struct buf *text, void *arg), void *arg);

#endif
