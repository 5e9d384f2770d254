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

/* Where the kernel's code is, without modules; 0: not seen, or hidden. */
struct kernel_text {
	uint64_t start; /* of _text or _stext: differs from boot to boot */
	uint64_t end;	/* _etext */
};

/*
 * Add the symbols in lines "ADDRESS TYPE NAME [MODULE]" to @t. @module: NULL: those of the kernel
 * itself; TEXT_SYMBOLS_ANY: all; else those of one module. Sets the members of @ret that @text has.
 * 0 or -ENOMEM.
 */
int text_symbols__kallsyms(const struct buf *text, const char *module, struct symbol_table *t,
			   struct kernel_text *ret);

/* Add the lines "START SIZE NAME", both numbers in hex, to @t; others are skipped. 0 or -ENOMEM. */
int text_symbols__perf_map(const struct buf *text, struct symbol_table *t);

/*
 * Read @fd to its end, and call @fn with each piece of whole lines, until it returns non-zero,
 * which is returned. A line longer than a piece is split. 0; the errno of read; -ENOMEM; -EFBIG:
 * more than @max bytes.
 */
int text_chunks__each(int fd, size_t max, int (*fn)(const struct buf *text, void *arg), void *arg);

#endif
