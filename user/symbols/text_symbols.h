/* SPDX-License-Identifier: GPL-2.0-only */
/* Symbols from text: /proc/kallsyms, and the /tmp/perf-PID.map of a program that makes code itself. */
#ifndef FRBPF_SYMBOLS_TEXT_SYMBOLS_H
#define FRBPF_SYMBOLS_TEXT_SYMBOLS_H

#include "symbols/symbol_table.h"

#define TEXT_SYMBOLS_ANY "*"

/*
 * Lines "ADDRESS TYPE NAME [MODULE]" of functions. @module: whose; NULL: the kernel's own;
 * TEXT_SYMBOLS_ANY: all. What
 * tables of the kernel's text give is only good with *ret_text, the address of _text (or _stext)
 * there; 0: addresses are hidden. 0 or -ENOMEM.
 */
int text_symbols__kallsyms(const struct buf *text, const char *module, struct symbol_table *t,
			   uint64_t *ret_text);

/* Lines "START SIZE NAME", both in hex; others are passed over. 0 or -ENOMEM. */
int text_symbols__perf_map(const struct buf *text, struct symbol_table *t);

#endif
