// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "perfdata/record.h"
#include "sideband/ksymbol_cover.h"

/* A part of an area: the symbol of a program, or a placeholder. */
struct piece {
	uint64_t start, end;
	bool ours;
};

/* Address range of programs that overlap, whether or not they are loaded at the same time. */
struct area {
	uint64_t start, end;
	size_t to_come;	      /* symbols that the window still adds */
	struct piece *pieces; /* the present symbols; owned */
	size_t n_pieces;
};

struct cover {
	struct area *v; /* sorted */
	size_t n;
};

/* NULL: it is not the symbol of a BPF program. */
static const struct record_ksymbol *program_symbol(const struct perf_event_header *h)
{
	const struct record_ksymbol *r = (const void *)h;

	return h->type == PERF_RECORD_KSYMBOL && r->len && !strncmp(r->name, "bpf_prog_", 9) ? r
											     : NULL;
}

static bool ksymbol_is_end(const struct record_ksymbol *r)
{
	return r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
}

static size_t count_programs(const struct buf *b)
{
	const struct perf_event_header *h;
	size_t off = 0, n = 0;

	while ((h = record__next(b, &off)))
		n += program_symbol(h) != NULL;
	return n;
}

static void add_areas(struct cover *c, const struct buf *b, bool in_window)
{
	const struct record_ksymbol *r;
	const struct perf_event_header *h;
	size_t off = 0;

	while ((h = record__next(b, &off)))
		if ((r = program_symbol(h)) && !ksymbol_is_end(r))
			c->v[c->n++] = (struct area){
				.start = r->addr,
				.end = r->addr + r->len,
				.to_come = in_window,
			};
}

static int compare_areas(const void *a, const void *b)
{
	const struct area *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Merge areas that overlap, and drop those in which the window adds nothing. */
static void merge_areas(struct cover *c)
{
	size_t i, n = 0, kept = 0;

	qsort(c->v, c->n, sizeof(*c->v), compare_areas);
	for (i = 0; i < c->n; i++) {
		struct area *last = n ? &c->v[n - 1] : NULL;

		if (!last || c->v[i].start >= last->end) {
			c->v[n++] = c->v[i];
			continue;
		}
		if (c->v[i].end > last->end)
			last->end = c->v[i].end;
		last->to_come += c->v[i].to_come;
	}
	for (i = 0; i < n; i++)
		if (c->v[i].to_come)
			c->v[kept++] = c->v[i];
	c->n = kept;
}

static struct area *area_of(const struct cover *c, uint64_t addr)
{
	size_t at = LOWER_BOUND(i, c->n, c->v[i].end <= addr);

	return at < c->n && c->v[at].start <= addr ? &c->v[at] : NULL;
}

static int add_area_piece(struct area *a, uint64_t start, uint64_t end, bool ours)
{
	struct piece *p = reallocarray(a->pieces, a->n_pieces + 1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p[a->n_pieces++] = (struct piece){ start, end, ours };
	a->pieces = p;
	return 0;
}

static int add_piece_record(struct buf *out, const struct piece *p, bool end,
			    const struct record_trailer *t)
{
	return record__add_ksymbol(out, p->start, p->end - p->start, PERF_RECORD_KSYMBOL_TYPE_BPF,
				   end ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0,
				   RECORD_KSYMBOL_NONE, t);
}

/* Advance *from to the first address that no piece covers. Returns the gap's length; 0: no gap. */
static uint64_t find_gap(const struct area *a, uint64_t *from)
{
	uint64_t end = a->end;
	size_t i;

	for (i = 0; i < a->n_pieces; i++)
		if (a->pieces[i].start <= *from && *from < a->pieces[i].end) {
			*from = a->pieces[i].end;
			i = -1; /* *from has moved: look at all pieces again */
		}
	for (i = 0; i < a->n_pieces; i++)
		if (a->pieces[i].start >= *from && a->pieces[i].start < end)
			end = a->pieces[i].start;
	return *from < end ? end - *from : 0;
}

static int fill_area(struct area *a, struct buf *out, const struct record_trailer *t)
{
	uint64_t from = a->start, len;
	int err = 0;

	while (!err && (len = find_gap(a, &from))) {
		err = add_area_piece(a, from, from + len, true);
		err = err ?: add_piece_record(out, &a->pieces[a->n_pieces - 1], false, t);
	}
	return err;
}

/* Drop the pieces that overlap [@start, @end): placeholders, or programs whose end was lost. */
static int clear_pieces(struct area *a, uint64_t start, uint64_t end, struct buf *out,
			const struct record_trailer *t)
{
	size_t i, n = 0;
	int err = 0;

	for (i = 0; i < a->n_pieces; i++) {
		struct piece *p = &a->pieces[i];

		if (p->start >= end || p->end <= start)
			a->pieces[n++] = *p;
		else if (p->ours && !err)
			err = add_piece_record(out, p, true, t);
	}
	a->n_pieces = n;
	return err;
}

static int begin_program(struct area *a, const struct record_ksymbol *r, struct buf *out,
			 const struct record_trailer *t)
{
	int err = clear_pieces(a, r->addr, r->addr + r->len, out, t);

	err = err ?: buf__add(out, r, r->header.size);
	err = err ?: add_area_piece(a, r->addr, r->addr + r->len, false);
	if (--a->to_come && !err)
		err = fill_area(a, out, t);
	return err;
}

static int end_program(struct area *a, const struct record_ksymbol *r, struct buf *out,
		       const struct record_trailer *t)
{
	size_t i, n = 0;
	int err = buf__add(out, r, r->header.size);

	for (i = 0; i < a->n_pieces; i++)
		if (a->pieces[i].ours || a->pieces[i].start != r->addr)
			a->pieces[n++] = a->pieces[i];
	a->n_pieces = n;
	return err || !a->to_come ? err : fill_area(a, out, t);
}

static int cover_base(struct cover *c, struct buf *base)
{
	static const struct record_trailer t = { 0 };
	const struct record_ksymbol *r;
	const struct perf_event_header *h;
	struct area *a;
	size_t off = 0;
	int err = 0;

	while (!err && (h = record__next(base, &off)))
		if ((r = program_symbol(h)) && (a = area_of(c, r->addr)))
			err = add_area_piece(a, r->addr, r->addr + r->len, false);
	for (a = c->v; a < c->v + c->n && !err; a++)
		err = fill_area(a, base, &t);
	return err;
}

static int cover_symbol_window(struct cover *c, const struct buf *window, struct buf *out)
{
	const struct record_ksymbol *r;
	const struct perf_event_header *h;
	struct record_trailer t;
	struct area *a;
	size_t off = 0;
	int err = 0;

	while (!err && (h = record__next(window, &off))) {
		r = program_symbol(h);
		a = r ? area_of(c, r->addr) : NULL;
		if (!a) {
			err = buf__add(out, h, h->size);
			continue;
		}
		memcpy(&t, (const char *)h + h->size - sizeof(t), sizeof(t));
		err = ksymbol_is_end(r) ? end_program(a, r, out, &t) : begin_program(a, r, out, &t);
	}
	return err;
}

int ksymbol_cover(struct buf *base, struct buf *window)
{
	size_t n = count_programs(window), i;
	struct cover c = { 0 };
	struct buf out = { 0 };
	int err;

	if (!n)
		return 0;
	n += count_programs(base);
	c.v = calloc(n, sizeof(*c.v));
	if (!c.v)
		return -ENOMEM;
	add_areas(&c, base, false);
	add_areas(&c, window, true);
	merge_areas(&c);
	err = cover_base(&c, base);
	err = err ?: cover_symbol_window(&c, window, &out);
	if (!err) {
		buf__free(window);
		*window = out;
	} else {
		buf__free(&out);
	}
	for (i = 0; i < c.n; i++)
		free(c.v[i].pieces);
	free(c.v);
	return err;
}
