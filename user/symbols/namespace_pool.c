// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/namespace_pool.h"

void namespaces__put(struct namespace_pool *pool, struct namespaces *ns)
{
	if (!ns || --ns->refs)
		return;
	HASH_DEL(pool->sets, ns);
	pool->bytes -= sizeof(*ns) + ns->n * sizeof(*ns->v);
	free(ns);
}

int namespaces__get(struct namespace_pool *pool, const uint64_t (*v)[2], size_t n,
		    struct namespaces **ret)
{
	size_t size = n * sizeof(*v);
	struct namespaces *ns;

	HASH_FIND(hh, pool->sets, v, size, ns);
	if (!ns) {
		ns = calloc(1, sizeof(*ns) + size);
		if (!ns)
			return -ENOMEM;
		ns->n = n;
		memcpy(ns->v, v, size);
		HASH_ADD_KEYPTR(hh, pool->sets, ns->v, size, ns);
		if (!ns->hh.tbl) {
			free(ns);
			return -ENOMEM;
		}
		pool->bytes += sizeof(*ns) + size;
	}
	ns->refs++;
	*ret = ns;
	return 0;
}

struct namespaces *namespaces__share(struct namespaces *ns)
{
	if (ns)
		ns->refs++;
	return ns;
}
