// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "analyse/functions.h"

struct entry {
	UT_hash_handle hh; /* by key */
	uint32_t id;
	char key[]; /* module, NUL, mode, symbol, NUL */
};

struct functions {
	struct entry *entries;
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
	struct entry *e, *next;

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
	struct entry *e;

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
	struct entry *e;

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
