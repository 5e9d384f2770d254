/* SPDX-License-Identifier: GPL-2.0-only */
/* Symbols of one module by address. Life: { 0 }, add the symbols, finish, find, free. If only a few
 * addresses will be looked up, want limits the table to these. */
#ifndef FRBPF_SYMBOLS_SYMBOL_TABLE_H
#define FRBPF_SYMBOLS_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/*
 * If several symbols have one address, one is kept, the same as in perf: the one with the highest
 * rank; of those from kallsyms, the last one.
 */
enum symbol_rank { SYMBOL_WEAK, SYMBOL_LOCAL, SYMBOL_GLOBAL, SYMBOL_KALLSYMS };

struct symbol {
	uint64_t start, end; /* end is exclusive */
	const char *name;
};

struct symbol_table {
	struct symbol *v; /* by start, once finished; owned */
	size_t n;
	struct raw_symbol *raw; /* until finished */
	size_t n_raw, cap_raw;
	struct symbol_filter *wanted; /* owned, until finished; NULL: all symbols are kept */
	uint32_t n_offered;
	struct buf names;
};

/* Keep only symbols at @addrs. Call it before the first add. 0 or -ENOMEM. */
int symbol_table__want(struct symbol_table *t, const uint64_t *addrs, size_t n);
/* Add a symbol. @size 0: it ends at the next symbol, or at @limit (0: no limit). 0 or -ENOMEM. */
int symbol_table__add(struct symbol_table *t, uint64_t start, uint64_t size, uint64_t limit,
		      const char *name, size_t name_len, enum symbol_rank rank);
/* 0 or -ENOMEM. */
int symbol_table__finish(struct symbol_table *t);
/* Find the symbol that covers @addr; borrowed. NULL: none. */
const struct symbol *symbol_table__find(const struct symbol_table *t, uint64_t addr);
void symbol_table__free(struct symbol_table *t);

#endif
