// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/lower_bound.h"
#include "symbols/symbol_filter.h"
#include "symbols/symbol_table.h"

#define LOOK_BACK 16   /* symbols to look through for a larger one that has the address */
#define LAST_SIZE 4096 /* bytes; of the last symbol, as in perf */

struct raw_symbol {
	uint64_t start, size, limit;
	size_t name; /* offset in names */
	uint32_t order;
	enum symbol_rank rank;
};

int symbol_table__want(struct symbol_table *t, const uint64_t *addrs, size_t n)
{
	return symbol_filter__new(addrs, n, &t->wanted);
}

static int add_raw(const struct offered_symbol *s, void *arg)
{
	struct symbol_table *t = arg;
	size_t at = t->names.len;

	if (t->n_raw == UINT32_MAX || !ARRAY_HAS_ROOM(t->raw, t->n_raw, t->cap_raw, 1024))
		return -ENOMEM;
	if (buf__add(&t->names, s->name, s->name_len) || buf__add_zero(&t->names, 1))
		return -ENOMEM;
	t->raw[t->n_raw++] = (struct raw_symbol){
		s->start, s->size, s->limit, at, s->order, s->rank,
	};
	return 0;
}

int symbol_table__add(struct symbol_table *t, uint64_t start, uint64_t size, uint64_t limit,
		      const char *name, size_t name_len, enum symbol_rank rank)
{
	struct offered_symbol s = { start, size, limit, name, name_len, rank, t->n_offered };

	if (t->n_offered == UINT32_MAX)
		return -ENOMEM;
	t->n_offered++;
	return t->wanted ? symbol_filter__offer(t->wanted, &s) : add_raw(&s, t);
}

static size_t count_underscores(const char *s)
{
	return strspn(s, "_");
}

/*
 * Orders by address; at one address the preferred symbol comes first, as in perf. Preferred are in
 * turn: a size, a higher rank, fewer leading underscores, a longer name, the earlier one.
 */
static int compare_symbols(const void *a, const void *b, void *names)
{
	const struct raw_symbol *x = a, *y = b;
	const char *x_name = (const char *)names + x->name, *y_name = (const char *)names + y->name;
	size_t x_len, y_len;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (!x->size != !y->size)
		return x->size ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->rank == SYMBOL_KALLSYMS)
		return x->order > y->order ? -1 : 1;
	if (count_underscores(x_name) != count_underscores(y_name))
		return count_underscores(x_name) < count_underscores(y_name) ? -1 : 1;
	x_len = strlen(x_name);
	y_len = strlen(y_name);
	if (x_len != y_len)
		return x_len > y_len ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static uint64_t end_of(const struct raw_symbol *s, uint64_t next)
{
	uint64_t end = next;

	if (s->size && !__builtin_add_overflow(s->start, s->size, &end))
		return end;
	if (s->limit > s->start && s->limit < end)
		end = s->limit;
	if (end == UINT64_MAX && s->start < UINT64_MAX - LAST_SIZE) /* the last symbol */
		end = s->start + LAST_SIZE;
	return end;
}

int symbol_table__finish(struct symbol_table *t)
{
	size_t i, k, n = 0;

	if (t->wanted && symbol_filter__each(t->wanted, add_raw, t))
		return -ENOMEM;
	symbol_filter__free(t->wanted);
	t->wanted = NULL;
	if (!t->n_raw)
		return 0;
	qsort_r(t->raw, t->n_raw, sizeof(*t->raw), compare_symbols, t->names.data);
	t->v = calloc(t->n_raw, sizeof(*t->v));
	if (!t->v)
		return -ENOMEM;
	for (i = 0; i < t->n_raw; i = k) {
		const struct raw_symbol *s = &t->raw[i];

		for (k = i + 1; k < t->n_raw && t->raw[k].start == s->start; k++)
			;
		t->v[n++] = (struct symbol){
			.start = s->start,
			.end = end_of(s, k < t->n_raw ? t->raw[k].start : UINT64_MAX),
			.name = t->names.data + s->name,
		};
	}
	t->n = n;
	free(t->raw);
	t->raw = NULL;
	t->n_raw = t->cap_raw = 0;
	return 0;
}

const struct symbol *symbol_table__find(const struct symbol_table *t, uint64_t addr)
{
	size_t n_below = LOWER_BOUND(i, t->n, t->v[i].start <= addr);

	for (size_t i = 0; i < LOOK_BACK && i < n_below; i++)
		if (addr < t->v[n_below - 1 - i].end)
			return &t->v[n_below - 1 - i];
	return NULL;
}

void symbol_table__free(struct symbol_table *t)
{
	free(t->v);
	free(t->raw);
	symbol_filter__free(t->wanted);
	buf__free(&t->names);
	*t = (struct symbol_table){ 0 };
}
