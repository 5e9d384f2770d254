// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/buf.h"
#include "symbols/symbol_table.h"

/*
 * For a table in which only a few addresses will be looked up: of all symbols offered, keeps those
 * that can be the answer. Memory grows with the number of addresses, not with that of symbols.
 */

struct offered_symbol {
	uint64_t start, size, limit; /* as of symbol_table__add() */
	const char *name;	     /* borrowed; needs no NUL */
	size_t name_len;
	int rank;
	uint32_t order;
};

#define SAME_START_MAX 8 /* aliases kept per address; the table chooses among them */

/* Symbols that begin at the same address. */
struct kept {
	struct offered_symbol v[SAME_START_MAX];
	struct buf names[SAME_START_MAX]; /* reused by later symbols */
	size_t n;
	uint64_t start;
};

/*
 * A wanted address. @nearest: the last symbol that starts at or before the address, but after that
 * of the previous slot. @around: the last symbol to start among those whose size covers the
 * address.
 */
struct slot {
	uint64_t addr;
	struct kept nearest, around;
};

struct symbol_filter {
	struct slot *v; /* by address, unique; owned */
	size_t n;
};

static int compare_addresses(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* @addrs are copied, in any order. -ENOMEM. */
static int symbol_filter__new(const uint64_t *addrs, size_t n, struct symbol_filter **ret)
{
	struct symbol_filter *f = calloc(1, sizeof(*f));
	size_t i;

	if (f)
		f->v = calloc(n ?: 1, sizeof(*f->v));
	if (!f || !f->v) {
		free(f);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		f->v[i].addr = addrs[i];
	if (n)
		qsort(f->v, n, sizeof(*f->v), compare_addresses);
	for (i = 0; i < n; i++)
		if (!f->n || f->v[f->n - 1].addr != f->v[i].addr)
			f->v[f->n++].addr = f->v[i].addr;
	*ret = f;
	return 0;
}

static void free_kept(struct kept *k)
{
	for (size_t i = 0; i < SAME_START_MAX; i++)
		buf__free(&k->names[i]);
}

/* NULL is legal */
static void symbol_filter__free(struct symbol_filter *f)
{
	for (size_t i = 0; f && i < f->n; i++) {
		free_kept(&f->v[i].nearest);
		free_kept(&f->v[i].around);
	}
	if (f)
		free(f->v);
	free(f);
}

/*
 * Keep a copy of @s, unless a kept symbol starts higher. @s replaces symbols that start lower. If
 * there are too many aliases, @s replaces one of them.
 */
static int keep_symbol(struct kept *k, const struct offered_symbol *s)
{
	size_t i;

	if (k->n && s->start < k->start)
		return 0;
	if (s->start > k->start)
		k->n = 0;
	i = k->n < SAME_START_MAX ? k->n : SAME_START_MAX - 1;
	k->names[i].len = 0;
	if (buf__add(&k->names[i], s->name, s->name_len) || buf__add_zero(&k->names[i], 1))
		return -ENOMEM;
	k->start = s->start;
	k->v[i] = *s;
	k->v[i].name = k->names[i].data;
	k->n = i + 1;
	return 0;
}

/* Keep a copy of @s if it can be the answer for an address. 0 or -ENOMEM. */
static int symbol_filter__offer(struct symbol_filter *f, const struct offered_symbol *s)
{
	size_t first = LOWER_BOUND(i, f->n, f->v[i].addr < s->start);
	int err;

	if (first == f->n)
		return 0;
	err = keep_symbol(&f->v[first].nearest, s);
	for (size_t i = first; !err && i < f->n && f->v[i].addr - s->start < s->size; i++)
		err = keep_symbol(&f->v[i].around, s);
	return err;
}

static int each_kept(const struct kept *k, int (*fn)(const struct offered_symbol *s, void *arg),
		     void *arg)
{
	int err = 0;

	for (size_t i = 0; i < k->n && !err; i++)
		err = fn(&k->v[i], arg);
	return err;
}

/* Call @fn with each kept symbol, until it returns non-zero, which is returned. Some come twice. */
static int symbol_filter__each(const struct symbol_filter *f,
			       int (*fn)(const struct offered_symbol *s, void *arg), void *arg)
{
	int err = 0;

	for (size_t i = 0; i < f->n && !err; i++)
		err = each_kept(&f->v[i].nearest, fn, arg) ?: each_kept(&f->v[i].around, fn, arg);
	return err;
}

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
 * Orders by address; at one address the preferred symbol comes first, as in perf. The first of
 * these that differs decides: a known size, a higher rank, fewer leading underscores, a longer
 * name, an earlier place in the file. From kallsyms, the last symbol is preferred.
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

static uint64_t symbol_end(const struct raw_symbol *s, uint64_t next)
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
			.end = symbol_end(s, k < t->n_raw ? t->raw[k].start : UINT64_MAX),
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
