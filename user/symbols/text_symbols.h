/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses symbols from text: /proc/kallsyms, and the /tmp/perf-PID.map of a program with a JIT. Such
 * files are long: they are read in pieces.
 */
#ifndef FRBPF_SYMBOLS_TEXT_SYMBOLS_H
#define FRBPF_SYMBOLS_TEXT_SYMBOLS_H

#include "common/buf.h"
#include "symbols/symbol_table.h"

#define TEXT_SYMBOLS_ANY "*"

/*
 * Add the symbols in lines "ADDRESS TYPE NAME [MODULE]" to @t. @module: NULL: those of the kernel
 * itself; TEXT_SYMBOLS_ANY: all; else those of one module. *ret_text: address of _text (or _stext),
 * to compare it with that of another boot; 0: not in @text, or hidden. 0 or -ENOMEM.
 */
int text_symbols__kallsyms(const struct buf *text, const char *module, struct symbol_table *t,
			   uint64_t *ret_text);

/* Add the lines "START SIZE NAME", both numbers in hex, to @t; others are skipped. 0 or -ENOMEM. */
int text_symbols__perf_map(const struct buf *text, struct symbol_table *t);

/*
 * Read @fd to its end, and call @fn with each piece of whole lines, until it returns non-zero, which is returned.
 * A line longer than a piece is split. 0; the errno of read; -ENOMEM; -EFBIG: more than @max bytes.
 */
int text_chunks__each(int fd, size_t max, int (*fn)(const struct buf *text, void *arg), void *arg);

#endif
