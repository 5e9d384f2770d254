/* SPDX-License-Identifier: GPL-2.0-only */
/* Names for numbers in conditions. */
#ifndef FRBPF_RULES_CONSTANTS_H
#define FRBPF_RULES_CONSTANTS_H

#include <stdbool.h>
#include <stddef.h>

struct constant {
	const char *name;
	long value;
};

/* Each ends with name NULL. */
extern const struct constant symbols_errno[];	   /* "EAGAIN", positive */
extern const struct constant symbols_state[];	   /* "D": letters as ps shows them */
extern const struct constant symbols_signal[];	   /* "SIGSEGV" */
extern const struct constant symbols_sa_handler[]; /* "SIG_DFL" */

extern const struct constant symbols_blkio_op[];
extern const struct constant symbols_blkio_flags[]; /* bits */
extern const struct constant symbols_softirq[];	    /* "net_rx": vectors */
extern const struct constant symbols_reclaim_scope[];
extern const struct constant symbols_connect_result[];
extern const struct constant symbols_family[];

/* Find the value of the name @s. 0 or -ENOENT. */
int constant__find(const struct constant *symbols, const char *s, size_t len, long *ret);
/* Find the name nearest to @s (see nearest_word()), or one that ends with @s. NULL: none. */
const char *constant__nearest(const struct constant *symbols, const char *s, size_t len);
/* List all names, each after a blank. False: @size is too small. */
bool constant__list(const struct constant *symbols, char *buf, size_t size);
/* Find the name of @value; NULL: none. */
const char *constant__name(const struct constant *symbols, long value);
/*
 * Format the bits of @value as "sync|meta"; bits without a name as a hex number; "" for 0.
 * Truncated to @size. Returns @buf.
 */
char *constant__format_bits(const struct constant *symbols, unsigned long value, char *buf,
			    size_t size);

/* Names for the numbers of the value @name of the tracepoint @target ("signal:*"); or NULL. */
const struct constant *constant__of_tracepoint(const char *target, const char *name);

#endif
