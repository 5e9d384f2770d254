/* SPDX-License-Identifier: GPL-2.0-only */
/* Symbols of the kernel and its modules: of the running one when it is the one recorded, of another
 * when perf has kept its kallsyms in ~/.debug. Each returns NULL, or why there are none (a static
 * text). What is to be added to a recorded address (another boot, another place) is in *ret_delta. */
#ifndef FRBPF_SYMBOLS_KERNEL_SYMBOLS_H
#define FRBPF_SYMBOLS_KERNEL_SYMBOLS_H

#include "perfdata/build_id.h"
#include "symbols/symbol_table.h"

/* @text: where the recorded kernel had its _text; 0: it hid that. @id: its build id; size 0: not
 * known, then it is the running one if that has its text there. */
const char *kernel_symbols__read(uint64_t text, const struct build_id *id, struct symbol_table *ret,
				 uint64_t *ret_delta);

/* @name: "[NAME]". @start: where it was recorded. */
const char *kernel_symbols__read_module(const char *name, uint64_t start, const struct build_id *id,
					struct symbol_table *ret, uint64_t *ret_delta);

/* Of the running kernel and all of its modules at once: those for @addrs alone. */
const char *kernel_symbols__read_running(const uint64_t *addrs, size_t n, struct symbol_table *ret);

#endif
