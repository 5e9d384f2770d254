/* SPDX-License-Identifier: GPL-2.0-only */
/* Names that stand for numbers in a condition. */
#ifndef FRBPF_RULES_SYMBOLS_H
#define FRBPF_RULES_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

struct symbol {
	const char *name;
	long value;
};

/* Each ends with name NULL. */
extern const struct symbol symbols_errno[];	 /* "EAGAIN", positive */
extern const struct symbol symbols_state[];	 /* "D": letters as ps shows them */
extern const struct symbol symbols_signal[];	 /* "SIGSEGV" */
extern const struct symbol symbols_sa_handler[]; /* "SIG_DFL" */

extern const struct symbol symbols_blkio_op[];
extern const struct symbol symbols_blkio_flags[]; /* bits */
extern const struct symbol symbols_softirq[];	  /* "net_rx": vectors */
extern const struct symbol symbols_reclaim_scope[];
extern const struct symbol symbols_connect_result[];
extern const struct symbol symbols_family[];

/* 0, or -ENOENT. */
int symbol__find(const struct symbol *symbols, const char *s, size_t len, long *ret);
/* The name nearest to the word, see nearest_word(), or one that ends so; or NULL. */
const char *symbol__nearest(const struct symbol *symbols, const char *s, size_t len);
/* All names, a blank before each. false: they have no room in @size. */
bool symbol__list(const struct symbol *symbols, char *buf, size_t size);
/* The name of @value, or NULL. */
const char *symbol__name(const struct symbol *symbols, long value);
/* "sync|meta" for the bits of @value, what has no name as a hex number; "" for none. Cut to @size.
 * Returns @buf. */
char *symbol__format_bits(const struct symbol *symbols, unsigned long value, char *buf,
			  size_t size);

#endif
