// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "symbols/map_list.h"

_Static_assert(offsetof(struct map_file, name) ==
		       offsetof(struct map_file, id) + sizeof(struct map_file_id),
	       "id and name are one key");

struct map_key {
	struct map_file_id id;
	char name[PATH_MAX];
};

int map_file__get(struct map_pool *pool, const struct map_file_id *id, const char *name,
		  size_t name_len, struct map_file **ret)
{
	struct map_key key;
	struct map_file *f;

	if (name_len >= sizeof(key.name))
		return -ENAMETOOLONG;
	key.id = *id;
	memset(key.id.zero, 0, sizeof(key.id.zero));
	memcpy(key.name, name, name_len);
	HASH_FIND(hh, pool->files, &key, sizeof(key.id) + name_len, f);
	if (!f) {
		f = calloc(1, sizeof(*f) + name_len + 1);
		if (!f)
			return -ENOMEM;
		memcpy(&f->id, &key, sizeof(key.id));
		memcpy(f->name, name, name_len);
		f->name_len = name_len;
		HASH_ADD_KEYPTR(hh, pool->files, &f->id, sizeof(f->id) + name_len, f);
		if (!f->hh.tbl) {
			free(f);
			return -ENOMEM;
		}
		pool->bytes += sizeof(*f) + name_len + 1;
	}
	f->refs++;
	*ret = f;
	return 0;
}

void map_file__put(struct map_pool *pool, struct map_file *f)
{
	if (!f || --f->refs)
		return;
	HASH_DEL(pool->files, f);
	pool->bytes -= sizeof(*f) + f->name_len + 1;
	free(f);
}

const struct build_id *map_file__build_id(const struct map_file *f)
{
	return f->id.build_id.size ? &f->id.build_id : &f->found;
}

static size_t list_size(size_t cap)
{
	return sizeof(struct map_list) + cap * sizeof(struct map);
}

/* Unshare *list, with room for @need maps. */
static int map_list__own(struct map_list **list, struct map_pool *pool, size_t need)
{
	struct map_list *old = *list, *l;
	size_t cap = old ? old->cap : 0;
	uint32_t i;

	if (need > MAP_LIST_MAX)
		return -E2BIG;
	if (old && old->refs == 1 && need <= cap)
		return 0;
	if (need > cap)
		cap = need < 8 ? need : need + need / 2;
	if (old && old->refs == 1) {
		l = realloc(old, list_size(cap));
		if (!l)
			return -ENOMEM;
		pool->bytes += list_size(cap) - list_size(l->cap);
		l->cap = cap;
		*list = l;
		return 0;
	}
	l = malloc(list_size(cap));
	if (!l)
		return -ENOMEM;
	*l = (struct map_list){ .refs = 1, .n = old ? old->n : 0, .cap = cap };
	pool->bytes += list_size(cap);
	for (i = 0; i < l->n; i++) {
		l->v[i] = old->v[i];
		l->v[i].file->refs++;
	}
	if (old)
		old->refs--;
	*list = l;
	return 0;
}

/* Index of the first map that ends above @addr. */
static uint32_t map_list__above(const struct map_list *l, uint64_t addr)
{
	return l ? LOWER_BOUND(i, l->n, l->v[i].end <= addr) : 0;
}

const struct map *map_list__find(const struct map_list *list, uint64_t addr)
{
	uint32_t i = map_list__above(list, addr);

	return list && i < list->n && list->v[i].start <= addr ? &list->v[i] : NULL;
}

/* The maps that replace [first, last): what is left below @m, @m, what is left above it. Returns
 * their number. */
static uint32_t overlay_pieces(const struct map_list *l, uint32_t first, uint32_t last,
			       const struct map *m, struct map piece[3])
{
	uint32_t n = 0;

	if (first < last && l->v[first].start < m->start) {
		piece[n] = l->v[first];
		piece[n++].end = m->start;
	}
	piece[n++] = *m;
	if (first < last && l->v[last - 1].end > m->end) {
		piece[n] = l->v[last - 1];
		piece[n].pgoff += m->end - piece[n].start;
		piece[n++].start = m->end;
	}
	return n;
}

int map_list__overlay(struct map_list **list, struct map_pool *pool, const struct map *m)
{
	uint32_t n = *list ? (*list)->n : 0, first, last, n_pieces, i;
	struct map piece[3];
	struct map_list *l;
	int err;

	if (m->start >= m->end)
		return 0;
	first = last = map_list__above(*list, m->start);
	while (last < n && (*list)->v[last].start < m->end)
		last++;
	n_pieces = overlay_pieces(*list, first, last, m, piece);
	err = map_list__own(list, pool, (size_t)n - (last - first) + n_pieces);
	if (err)
		return err;
	l = *list;
	for (i = 0; i < n_pieces; i++)
		piece[i].file->refs++;
	for (i = first; i < last; i++)
		map_file__put(pool, l->v[i].file);
	memmove(&l->v[first + n_pieces], &l->v[last], (n - last) * sizeof(*l->v));
	memcpy(&l->v[first], piece, n_pieces * sizeof(*piece));
	l->n = n - (last - first) + n_pieces;
	return 0;
}

struct map_list *map_list__share(struct map_list *list)
{
	if (list)
		list->refs++;
	return list;
}

int map_list__copy(const struct map_list *list, struct map_pool *to, struct map_list **ret)
{
	struct map_list *l;
	uint32_t i;
	int err;

	if (!list || !list->n) {
		*ret = NULL;
		return 0;
	}
	l = malloc(list_size(list->n));
	if (!l)
		return -ENOMEM;
	*l = (struct map_list){ .refs = 1, .cap = list->n };
	to->bytes += list_size(l->cap);
	for (i = 0; i < list->n; i++) {
		const struct map_file *f = list->v[i].file;

		l->v[i] = list->v[i];
		err = map_file__get(to, &f->id, f->name, f->name_len, &l->v[i].file);
		if (err) {
			map_list__put(l, to);
			return err;
		}
		l->n++;
	}
	*ret = l;
	return 0;
}

void map_list__put(struct map_list *list, struct map_pool *pool)
{
	uint32_t i;

	if (!list || --list->refs)
		return;
	for (i = 0; i < list->n; i++)
		map_file__put(pool, list->v[i].file);
	pool->bytes -= list_size(list->cap);
	free(list);
}
