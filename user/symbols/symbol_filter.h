/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a table in which only a few addresses will be looked up: of all symbols offered, keeps those
 * that can be the answer. Memory grows with the number of addresses, not with that of symbols.
 */
#ifndef FRBPF_SYMBOLS_SYMBOL_FILTER_H
#define FRBPF_SYMBOLS_SYMBOL_FILTER_H

#include <stddef.h>
#include <stdint.h>

struct symbol_filter;

/* @addrs are copied, in any order. -ENOMEM. */
int symbol_filter__new(const uint64_t *addrs, size_t n, struct symbol_filter **ret);
void symbol_filter__free(struct symbol_filter *f); /* NULL is legal */

struct offered_symbol {
	uint64_t start, size, limit; /* as of symbol_table__add() */
	const char *name;	     /* borrowed; needs no NUL */
	size_t name_len;
	int rank;
	uint32_t order;
};

/* Keep a copy of @s if it can be the answer for an address. 0 or -ENOMEM. */
int symbol_filter__offer(struct symbol_filter *f, const struct offered_symbol *s);

/* Call @fn with each kept symbol, until it returns non-zero, which is returned. Some come twice. */
int symbol_filter__each(const struct symbol_filter *f,
			int (*fn)(const struct offered_symbol *s, void *arg), void *arg);

#endif
