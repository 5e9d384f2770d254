// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL when memory is out */
#include <uthash.h>

#include "analyse/stacks.h"
#include "common/array.h"
#include "common/buf.h"

struct function_entry {
	UT_hash_handle hh; /* by key */
	uint32_t id;
	char key[]; /* module, NUL, mode, symbol, NUL */
};

struct functions {
	struct function_entry *entries;
	struct function *v;
	size_t n, cap;
	struct buf key; /* used while searching */
};

int functions__new(struct functions **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void functions__free(struct functions *f)
{
	struct function_entry *e, *next;

	if (!f)
		return;
	HASH_ITER (hh, f->entries, e, next) {
		HASH_DEL(f->entries, e);
		free(e);
	}
	free(f->v);
	buf__free(&f->key);
	free(f);
}

static int functions_add(struct functions *f, const struct location *l, uint32_t *ret)
{
	size_t module_len = strlen(l->module);
	struct function_entry *e;

	if (f->n == UINT32_MAX || !ARRAY_HAS_ROOM(f->v, f->n, f->cap, 256))
		return -ENOMEM;
	e = malloc(sizeof(*e) + f->key.len);
	if (!e)
		return -ENOMEM;
	e->id = f->n;
	memcpy(e->key, f->key.data, f->key.len);
	HASH_ADD_KEYPTR(hh, f->entries, e->key, f->key.len, e);
	if (!e->hh.tbl) {
		free(e);
		return -ENOMEM;
	}
	f->v[f->n] = (struct function){
		.module = e->key,
		.symbol = l->symbol ? e->key + module_len + 2 : NULL,
		.kernel = l->kernel,
	};
	*ret = f->n++;
	return 0;
}

int functions__id(struct functions *f, const struct location *l, uint32_t *ret)
{
	const char mode = l->kernel ? 'k' : l->symbol ? 'u' : 'n';
	struct function_entry *e;

	f->key.len = 0;
	if (buf__add(&f->key, l->module, strlen(l->module) + 1) || buf__add(&f->key, &mode, 1) ||
	    buf__add(&f->key, l->symbol ?: "", strlen(l->symbol ?: "") + 1))
		return -ENOMEM;
	HASH_FIND(hh, f->entries, f->key.data, f->key.len, e);
	if (!e)
		return functions_add(f, l, ret);
	*ret = e->id;
	return 0;
}

const struct function *functions__get(const struct functions *f, uint32_t id)
{
	return &f->v[id];
}

size_t functions__n(const struct functions *f)
{
	return f->n;
}

/* ---- stacks ---- */

struct stack_entry {
	UT_hash_handle hh; /* by stack */
	uint32_t id;
	struct stack stack;
};

struct stacks {
	struct stack_entry *entries;
	struct stack_entry **v;
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
	struct stack_entry *e = calloc(1, offsetof(struct stack_entry, stack) + size), *there;

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
