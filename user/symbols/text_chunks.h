/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a long text in pieces of whole lines, so that it is never in memory as a whole. */
#ifndef FRBPF_SYMBOLS_TEXT_CHUNKS_H
#define FRBPF_SYMBOLS_TEXT_CHUNKS_H

#include "common/buf.h"

/*
 * Read @fd to its end, and call @fn with each piece, until it returns non-zero, which is returned.
 * A line longer than a piece is split. 0; the errno of read; -ENOMEM; -EFBIG: more than @max bytes.
 */
int text_chunks__each(int fd, size_t max, int (*fn)(const struct buf *text, void *arg), void *arg);

#endif
