// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <stdlib.h>

#include "detect/tracepoint/seen_hits.h"

#define HITS_MAX 4096

struct hit {
	uint64_t time; /* 0: taken */
	uint64_t hash; /* of its content */
	uint32_t cpu, tid;
};

struct seen_hits {
	size_t n;
	bool overflowed;
	struct hit v[HITS_MAX];
};

/* FNV-1a */
static uint64_t hash_of(const struct event_sample *s)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < s->size; i++)
		h = (h ^ (unsigned char)s->raw[i]) * 0x100000001b3ULL;
	return h;
}

struct seen_hits *seen_hits__new(void)
{
	return calloc(1, sizeof(struct seen_hits));
}

void seen_hits__add(struct seen_hits *h, const struct event_sample *s)
{
	if (h->n == HITS_MAX) {
		h->overflowed = true;
		return;
	}
	h->v[h->n++] = (struct hit){ s->time, hash_of(s), s->cpu, s->tid };
}

bool seen_hits__overflowed(const struct seen_hits *h)
{
	return h->overflowed;
}

bool seen_hits__take(struct seen_hits *h, const struct event_sample *s)
{
	uint64_t hash = hash_of(s);
	struct hit *next = NULL;

	for (size_t i = 0; i < h->n; i++) {
		struct hit *o = &h->v[i];

		if (o->time >= s->time && o->cpu == s->cpu && o->tid == s->tid && o->hash == hash &&
		    (!next || o->time < next->time))
			next = o;
	}
	if (!next)
		return false;
	next->time = 0;
	return true;
}

void seen_hits__free(struct seen_hits *h)
{
	free(h);
}
