// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "dump/window/timeline.h"
#include "perfdata/record.h"

int timeline__add(struct timeline *t, uint64_t time, const struct perf_event_header *rec)
{
	if (!ARRAY_HAS_ROOM(t->v, t->n, t->cap, 1024))
		return -ENOMEM;
	t->v[t->n++] = (struct timeline_entry){ .time = time, .rec = rec };
	return 0;
}

int timeline__add_buffer(struct timeline *t, const void *data, size_t len)
{
	const struct perf_event_header *h;
	size_t off = 0;
	int err;

	for (; off < len; off += h->size) {
		h = (const void *)((const uint8_t *)data + off);
		if (len - off < sizeof(*h) || !record__valid(h, len - off))
			return -EINVAL;
		err = timeline__add(t, record__time(h), h);
		if (err)
			return err;
	}
	return 0;
}

/* The end of the run that begins at @i: entries in ascending order. */
static size_t timeline_run_end(const struct timeline_entry *v, size_t n, size_t i)
{
	for (i++; i < n && v[i - 1].time <= v[i].time; i++)
		;
	return i;
}

static void merge_timeline_runs(const struct timeline_entry *v, size_t a, size_t b, size_t end,
				struct timeline_entry *out)
{
	size_t i = a, j = b, k = a;

	while (i < b && j < end)
		out[k++] = v[j].time < v[i].time ? v[j++] : v[i++];
	memcpy(out + k, v + i, (b - i) * sizeof(*v));
	memcpy(out + k + (b - i), v + j, (end - j) * sizeof(*v));
}

/* Merge neighbouring runs of @v into @out. Returns 1 if @v was one run, so already sorted. */
static int merge_pass(const struct timeline_entry *v, size_t n, struct timeline_entry *out)
{
	size_t a = 0, b, end;

	if (timeline_run_end(v, n, 0) == n)
		return 1;
	for (; a < n; a = end) {
		b = timeline_run_end(v, n, a);
		end = b < n ? timeline_run_end(v, n, b) : b;
		merge_timeline_runs(v, a, b, end, out);
	}
	return 0;
}

int timeline__sort(struct timeline *t)
{
	struct timeline_entry *spare, *swap;

	if (t->n < 2)
		return 0;
	spare = malloc(t->n * sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	while (!merge_pass(t->v, t->n, spare)) {
		swap = t->v;
		t->v = spare;
		spare = swap;
		t->cap = t->n;
	}
	free(spare);
	return 0;
}

void timeline__free(struct timeline *t)
{
	free(t->v);
	*t = (struct timeline){ 0 };
}
