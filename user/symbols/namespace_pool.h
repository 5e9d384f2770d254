/* SPDX-License-Identifier: GPL-2.0-only */
/* The sets of namespaces that processes live in: most share the same few, so each is kept once. Not
 * locked. */
#ifndef FRBPF_SYMBOLS_NAMESPACE_POOL_H
#define FRBPF_SYMBOLS_NAMESPACE_POOL_H

#include <stddef.h>
#include <stdint.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL then */
#include <uthash.h>

/* Immutable and shared by all processes that live in the same namespaces. */
struct namespaces {
	UT_hash_handle hh; /* by content: v[0..n) */
	uint32_t refs;
	uint32_t n;
	uint64_t v[][2]; /* {device, inode}, in the kernel's order */
};

struct namespace_pool { /* { 0 } is an empty one */
	struct namespaces *sets;
	size_t bytes;
};

/* Find or make the set and take a reference. -ENOMEM. */
int namespaces__get(struct namespace_pool *pool, const uint64_t (*v)[2], size_t n,
		    struct namespaces **ret);
struct namespaces *namespaces__share(struct namespaces *ns); /* NULL stays NULL */
void namespaces__put(struct namespace_pool *pool, struct namespaces *ns);

#endif
