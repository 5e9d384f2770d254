// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump/window/page_set.h"
#include "perfdata/record.h"
#include "record/offcpu_event.h"

#define SEEN_SIZE 4096 /* a power of two */

/* The parts of an event's attr that give the layout of its samples. */
struct page_event {
	uint64_t id; /* the events are sorted by it */
	uint64_t sample_type, read_format;
};

static int compare_events(const void *a, const void *b)
{
	const struct page_event *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

int page_set__init(struct page_set *p, const struct session *s)
{
	size_t e, i, n = s->n_targets * s->n_id_cpus;

	*p = (struct page_set){ 0 };
	p->events = calloc(s->events->n * n + 1, sizeof(*p->events));
	p->seen = calloc(SEEN_SIZE, sizeof(*p->seen));
	if (!p->events || !p->seen)
		return -ENOMEM;
	for (e = 0; e < s->events->n; e++) {
		const struct perf_event_attr *attr = &s->events->v[e].attr;
		const uint64_t *ids = session__event_ids(s, e, &n);
		uint64_t fields = event__file_fields(&s->events->v[e]);

		p->incomplete |= attr->sample_type & PERF_SAMPLE_STACK_USER;
		for (i = 0; i < n; i++)
			p->events[p->n_events++] =
				(struct page_event){ ids[i], fields, attr->read_format };
	}
	qsort(p->events, p->n_events, sizeof(*p->events), compare_events);
	return 0;
}

static const struct page_event *find_page_event(struct page_set *p, uint64_t id)
{
	const struct page_event key = { .id = id }, *e;

	if (p->last_event < p->n_events && p->events[p->last_event].id == id)
		return &p->events[p->last_event];
	e = bsearch(&key, p->events, p->n_events, sizeof(*e), compare_events);
	if (e)
		p->last_event = e - p->events;
	return e;
}

static int grow_pages(struct page_set *p)
{
	struct sideband_page *v;
	size_t cap;

	page_set__sort(p); /* dropping repetitions may make room */
	if (p->cap && p->n < p->cap / 2)
		return 0;
	cap = p->cap ? p->cap * 2 : 1024;
	v = reallocarray(p->v, cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	p->v = v;
	p->cap = cap;
	return 0;
}

static int add_page(struct page_set *p, uint32_t pid, uint64_t addr)
{
	const struct sideband_page page = { .pid = pid, .page = addr >> SIDEBAND_PAGE_SHIFT };
	uint64_t hash = (page.page ^ (uint64_t)pid << 20) * 0x9e3779b97f4a7c15ULL;
	struct sideband_page *seen = &p->seen[hash >> 52];

	if (!sideband_page__compare(seen, &page))
		return 0;
	if (p->n == p->cap && grow_pages(p))
		return -ENOMEM;
	*seen = page;
	p->v[p->n++] = page;
	return 0;
}

/*
 * Get the owner of the code that the sample @h hit, from its CPU mode. False: the owner is neither
 * the kernel nor the process.
 */
static bool owner_of_mode(const struct perf_event_header *h, uint32_t *ret)
{
	switch (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
		*ret = SIDEBAND_KERNEL;
		return true;
	case PERF_RECORD_MISC_USER:
		*ret = record__pid(h);
		return true;
	default:
		return false;
	}
}

static uint64_t read_words(const struct page_event *e, const uint64_t *at, const uint64_t *end)
{
	uint64_t times = !!(e->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(e->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t each =
		1 + !!(e->read_format & PERF_FORMAT_ID) + !!(e->read_format & PERF_FORMAT_LOST);

	if (!(e->read_format & PERF_FORMAT_GROUP))
		return times + each;
	return at < end && *at < UINT16_MAX ? 1 + times + *at * each : UINT16_MAX;
}

static const uint64_t *record_end(const struct perf_event_header *h)
{
	return (const uint64_t *)((const char *)h + h->size);
}

/* The words after the period: the callchain, or what follows; NULL: outside the record. */
static const uint64_t *words_after_period(const struct page_event *e,
					  const struct perf_event_header *h)
{
	const uint64_t *end = record_end(h);
	const uint64_t *at = (const uint64_t *)h + 5; /* header, id, ip, pid and tid, time */

	at += !!(e->sample_type & PERF_SAMPLE_ADDR) + 1 /* cpu */ +
	      !!(e->sample_type & PERF_SAMPLE_PERIOD);
	if (e->sample_type & PERF_SAMPLE_READ) {
		uint64_t words = read_words(e, at, end);

		if (words >= (uint64_t)(end - at))
			return NULL;
		at += words;
	}
	return at < end ? at : NULL;
}

/* The words of the callchain; NULL: it has none. */
static const uint64_t *sample_callchain(const struct page_event *e,
					const struct perf_event_header *h, uint64_t *ret_n)
{
	const uint64_t *at;

	if (!(e->sample_type & PERF_SAMPLE_CALLCHAIN))
		return NULL;
	at = words_after_period(e, h);
	if (!at || *at > (uint64_t)(record_end(h) - at - 1))
		return NULL;
	*ret_n = *at;
	return at + 1;
}

const void *page_set__raw(struct page_set *p, const struct perf_event_header *h, uint32_t *ret_size)
{
	const struct page_event *e = find_page_event(p, record__id(h));
	const uint64_t *at, *chain;
	uint64_t n = 0;
	uint32_t size;

	if (!e || !(e->sample_type & PERF_SAMPLE_RAW))
		return NULL;
	at = words_after_period(e, h);
	if (e->sample_type & PERF_SAMPLE_CALLCHAIN) {
		chain = sample_callchain(e, h, &n);
		at = chain ? chain + n : NULL;
	}
	if (!at || at >= record_end(h))
		return NULL;
	memcpy(&size, at, sizeof(size));
	if (size > (uint64_t)(record_end(h) - at) * sizeof(*at) - sizeof(size))
		return NULL;
	*ret_size = size;
	return (const char *)at + sizeof(size);
}

uint32_t page_set__cpu(struct page_set *p, const struct perf_event_header *h)
{
	const struct page_event *e = find_page_event(p, record__id(h));
	const uint64_t *at = (const uint64_t *)h + 5; /* header, id, ip, pid and tid, time */

	return at[e && e->sample_type & PERF_SAMPLE_ADDR];
}

const uint64_t *page_set__callchain(struct page_set *p, const struct perf_event_header *h,
				    uint64_t *ret_n)
{
	const struct page_event *e = find_page_event(p, record__id(h));

	return e ? sample_callchain(e, h, ret_n) : NULL;
}

int page_set__add_sample(struct page_set *p, const struct perf_event_header *h)
{
	const struct page_event *e = find_page_event(p, record__id(h));
	const uint64_t *ips;
	uint64_t n = 0, i;
	uint32_t owner;
	bool known;
	int err = 0;

	if (!e)
		return 0;
	known = owner_of_mode(h, &owner);
	if (known)
		err = add_page(p, owner, ((const uint64_t *)h)[2]);
	ips = sample_callchain(e, h, &n);
	for (i = 0; i < n && !err; i++) {
		if (ips[i] >= PERF_CONTEXT_MAX) {
			known = ips[i] == PERF_CONTEXT_USER || ips[i] == PERF_CONTEXT_KERNEL;
			owner = ips[i] == PERF_CONTEXT_KERNEL ? SIDEBAND_KERNEL : record__pid(h);
		} else if (known) {
			err = add_page(p, owner, ips[i]);
		}
	}
	return err;
}

int page_set__add(struct page_set *p, uint32_t pid, const __u64 *addrs, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = add_page(p, pid, addrs[i]);
	return err;
}

void page_set__sort(struct page_set *p)
{
	size_t n = 0, i;

	if (!p->n)
		return;
	qsort(p->v, p->n, sizeof(*p->v), sideband_page__compare);
	for (i = 1; i < p->n; i++)
		if (sideband_page__compare(&p->v[n], &p->v[i]) != 0)
			p->v[++n] = p->v[i];
	p->n = n + 1;
}

void page_set__free(struct page_set *p)
{
	free(p->v);
	free(p->events);
	free(p->seen);
	*p = (struct page_set){ 0 };
}
