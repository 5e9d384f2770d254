// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL when memory is out */
#include <uthash.h>

#include "common/array.h"
#include "analyse/stacks.h"

struct entry {
	UT_hash_handle hh; /* by stack */
	uint32_t id;
	struct stack stack;
};

struct stacks {
	struct entry *entries;
	struct entry **v;
	size_t n, cap;
};

int stacks__new(struct stacks **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void stacks__free(struct stacks *s)
{
	if (!s)
		return;
	HASH_CLEAR(hh, s->entries);
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	free(s);
}

int stacks__id(struct stacks *s, uint32_t state, const uint32_t *functions, size_t n, uint32_t *ret)
{
	size_t size = sizeof(struct stack) + n * sizeof(*functions);
	struct entry *e = calloc(1, offsetof(struct entry, stack) + size), *there;

	if (!e)
		return -ENOMEM;
	e->id = s->n;
	e->stack.state = state;
	e->stack.n = n;
	if (n)
		memcpy(e->stack.functions, functions, n * sizeof(*functions));
	HASH_FIND(hh, s->entries, &e->stack, size, there);
	if (there) {
		*ret = there->id;
		free(e);
		return 0;
	}
	if (s->n == UINT32_MAX || !ARRAY_HAS_ROOM(s->v, s->n, s->cap, 256)) {
		free(e);
		return -ENOMEM;
	}
	HASH_ADD_KEYPTR(hh, s->entries, &e->stack, size, e);
	if (!e->hh.tbl) {
		free(e);
		return -ENOMEM;
	}
	s->v[s->n] = e;
	*ret = s->n++;
	return 0;
}

const struct stack *stacks__get(const struct stacks *s, uint32_t id)
{
	return &s->v[id]->stack;
}

size_t stacks__n(const struct stacks *s)
{
	return s->n;
}
