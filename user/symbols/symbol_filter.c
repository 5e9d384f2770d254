// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/lower_bound.h"
#include "symbols/symbol_filter.h"

#define SAME_START_MAX 8 /* aliases kept per address; the table chooses among them */

/* Symbols that begin at the same address. */
struct kept {
	struct offered_symbol v[SAME_START_MAX];
	struct buf names[SAME_START_MAX]; /* reused by later symbols */
	size_t n;
	uint64_t start;
};

/*
 * A wanted address. @nearest: the symbol with the highest start up to it, but above the previous
 * slot's address. @around: that with the highest start among those whose size covers the address.
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

int symbol_filter__new(const uint64_t *addrs, size_t n, struct symbol_filter **ret)
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

void symbol_filter__free(struct symbol_filter *f)
{
	for (size_t i = 0; f && i < f->n; i++) {
		free_kept(&f->v[i].nearest);
		free_kept(&f->v[i].around);
	}
	if (f)
		free(f->v);
	free(f);
}

/* A higher start replaces lower ones. If aliases are too many, the last replaces another. */
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

int symbol_filter__offer(struct symbol_filter *f, const struct offered_symbol *s)
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

int symbol_filter__each(const struct symbol_filter *f,
			int (*fn)(const struct offered_symbol *s, void *arg), void *arg)
{
	int err = 0;

	for (size_t i = 0; i < f->n && !err; i++)
		err = each_kept(&f->v[i].nearest, fn, arg) ?: each_kept(&f->v[i].around, fn, arg);
	return err;
}
