// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/record.h"
#include "sideband/sideband_log.h"

#define CHUNK_MIN ((size_t)64 * 1024) /* perf_event_header.size is 16 bits wide */

struct chunk {
	struct chunk *next;
	size_t used;
	uint64_t min_time, max_time;
	char data[];
};

struct sideband_log {
	struct chunk *oldest, *newest; /* in order of creation */
	size_t n_chunks;
	size_t chunk_bytes; /* of data */
	uint64_t base_time;
};

int sideband_log__new(size_t chunk_bytes, struct sideband_log **ret)
{
	struct sideband_log *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->chunk_bytes = chunk_bytes < CHUNK_MIN ? CHUNK_MIN : chunk_bytes;
	*ret = l;
	return 0;
}

void sideband_log__free(struct sideband_log *l)
{
	struct chunk *c, *next;

	if (!l)
		return;
	for (c = l->oldest; c; c = next) {
		next = c->next;
		free(c);
	}
	free(l);
}

static int sideband_log__grow(struct sideband_log *l)
{
	struct chunk *c = malloc(sizeof(*c) + l->chunk_bytes);

	if (!c)
		return -ENOMEM;
	*c = (struct chunk){ .min_time = UINT64_MAX };
	if (l->newest)
		l->newest->next = c;
	else
		l->oldest = c;
	l->newest = c;
	l->n_chunks++;
	return 0;
}

int sideband_log__append(struct sideband_log *l, const struct perf_event_header *rec)
{
	uint64_t time = record__time(rec);
	struct chunk *c = l->newest;
	int err;

	if (time < l->base_time)
		return -ESTALE;
	if (!c || l->chunk_bytes - c->used < rec->size) {
		err = sideband_log__grow(l);
		if (err)
			return err;
		c = l->newest;
	}
	memcpy(c->data + c->used, rec, rec->size);
	c->used += rec->size;
	if (time < c->min_time)
		c->min_time = time;
	if (time > c->max_time)
		c->max_time = time;
	return 0;
}

uint64_t sideband_log__base_time(const struct sideband_log *l)
{
	return l->base_time;
}

size_t sideband_log__bytes(const struct sideband_log *l)
{
	return sizeof(*l) + l->n_chunks * (sizeof(struct chunk) + l->chunk_bytes);
}

size_t sideband_log__n_chunks(const struct sideband_log *l)
{
	return l->n_chunks;
}

uint64_t sideband_log__oldest_chunk_end(const struct sideband_log *l)
{
	return l->oldest ? l->oldest->max_time : 0;
}

static void sideband_log__free_older(struct sideband_log *l, uint64_t before)
{
	struct chunk **link = &l->oldest, *c;

	l->newest = NULL;
	while ((c = *link)) {
		if (c->max_time < before) {
			*link = c->next;
			free(c);
			l->n_chunks--;
		} else {
			l->newest = c;
			link = &c->next;
		}
	}
}

static size_t fold_unsorted(const struct sideband_log *l, uint64_t before,
			    void (*fn)(const struct perf_event_header *rec, void *arg), void *arg)
{
	const struct perf_event_header *rec;
	const struct chunk *c;
	size_t off, n = 0;

	for (c = l->oldest; c; c = c->next)
		for (off = 0; off < c->used; off += rec->size) {
			uint64_t time;

			rec = (const void *)(c->data + off);
			time = record__time(rec);
			if (time >= l->base_time && time < before) {
				fn(rec, arg);
				n++;
			}
		}
	return n;
}

size_t sideband_log__fold(struct sideband_log *l, uint64_t before,
			  void (*fn)(const struct perf_event_header *rec, void *arg), void *arg)
{
	struct sideband_log_view view = { 0 };
	struct sideband_ref *refs = NULL;
	size_t n = 0, i;

	if (before <= l->base_time)
		return 0;
	if (sideband_log__view(l, &view) ||
	    sideband_log_view__sorted(&view, 0, before - 1, &refs, &n))
		n = fold_unsorted(l, before, fn, arg);
	else
		for (i = 0; i < n; i++)
			fn(refs[i].rec, arg);
	free(refs);
	sideband_log_view__free(&view);
	l->base_time = before;
	sideband_log__free_older(l, before);
	return n;
}

int sideband_log__view(const struct sideband_log *l, struct sideband_log_view *ret)
{
	struct sideband_log_view v = { .base_time = l->base_time };
	const struct chunk *c;

	v.spans = malloc((l->n_chunks + 1) * sizeof(*v.spans));
	if (!v.spans)
		return -ENOMEM;
	for (c = l->oldest; c; c = c->next)
		v.spans[v.n_spans++] = (struct sideband_log_span){
			.data = c->data,
			.len = c->used,
			.min_time = c->min_time,
			.max_time = c->max_time,
		};
	*ret = v;
	return 0;
}

void sideband_log_view__free(struct sideband_log_view *v)
{
	free(v->spans);
	*v = (struct sideband_log_view){ 0 };
}

/* Collect the records of [from, to] in order of arrival. @out NULL: only count. */
static size_t view__collect(const struct sideband_log_view *v, uint64_t from, uint64_t to,
			    struct sideband_ref *out)
{
	const struct perf_event_header *rec;
	size_t i, off, n = 0;

	for (i = 0; i < v->n_spans; i++) {
		const struct sideband_log_span *s = &v->spans[i];

		if (s->max_time < from || s->min_time > to)
			continue;
		for (off = 0; off < s->len; off += rec->size) {
			uint64_t time;

			rec = (const void *)(s->data + off);
			time = record__time(rec);
			if (time < from || time > to)
				continue;
			if (out)
				out[n] = (struct sideband_ref){ .time = time, .rec = rec };
			n++;
		}
	}
	return n;
}

/*
 * The end of the sorted run at @i. The bottom-up merge sort below is stable, and fast here: the
 * records of one ring are such a run.
 */
static size_t log_run_end(const struct sideband_ref *v, size_t i, size_t n)
{
	while (i + 1 < n && v[i].time <= v[i + 1].time)
		i++;
	return i + 1;
}

static void merge_refs(const struct sideband_ref *a, size_t n_a, const struct sideband_ref *b,
		       size_t n_b, struct sideband_ref *out)
{
	while (n_a && n_b) {
		if (a->time <= b->time) {
			*out++ = *a++;
			n_a--;
		} else {
			*out++ = *b++;
			n_b--;
		}
	}
	memcpy(out, n_a ? a : b, (n_a + n_b) * sizeof(*out));
}

/* One pass over @v: merges each pair of neighbouring runs into @out. True: one run is left. */
static bool merge_log_runs(const struct sideband_ref *v, size_t n, struct sideband_ref *out)
{
	size_t start = 0, middle, end;

	while (start < n) {
		middle = log_run_end(v, start, n);
		end = middle < n ? log_run_end(v, middle, n) : n;
		merge_refs(v + start, middle - start, v + middle, end - middle, out + start);
		if (start == 0 && end == n)
			return true;
		start = end;
	}
	return n == 0;
}

int sideband_log_view__sorted(const struct sideband_log_view *v, uint64_t from, uint64_t to,
			      struct sideband_ref **ret, size_t *ret_n)
{
	struct sideband_ref *refs, *spare, *swap;
	bool done = false;
	size_t n;

	if (from < v->base_time)
		from = v->base_time;
	n = view__collect(v, from, to, NULL);
	refs = calloc(n + 1, sizeof(*refs));
	spare = calloc(n + 1, sizeof(*spare));
	if (!refs || !spare) {
		free(refs);
		free(spare);
		return -ENOMEM;
	}
	view__collect(v, from, to, refs);
	while (!done) {
		done = merge_log_runs(refs, n, spare);
		swap = refs;
		refs = spare;
		spare = swap;
	}
	free(spare);
	*ret = refs;
	*ret_n = n;
	return 0;
}
