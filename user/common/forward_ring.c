// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/forward_ring.h"

int forward_ring__map(int fd, size_t bytes, struct forward_ring *ret)
{
	void *p = mmap(NULL, sysconf(_SC_PAGESIZE) + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       0);

	if (p == MAP_FAILED)
		return -errno;
	*ret = (struct forward_ring){ p, bytes };
	return 0;
}

void forward_ring__unmap(struct forward_ring *r)
{
	if (r->base)
		munmap(r->base, sysconf(_SC_PAGESIZE) + r->size);
	*r = (struct forward_ring){ 0 };
}

static uint64_t ring_head(const struct perf_event_mmap_page *page)
{
	return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

uint64_t forward_ring__waiting(const struct forward_ring *r)
{
	const struct perf_event_mmap_page *page = r->base;

	return ring_head(page) - page->data_tail;
}

/* The record at ring position @pos. */
static const struct perf_event_header *forward_record_at(const struct forward_ring *r, uint64_t pos,
							 uint64_t avail,
							 struct forward_record *wrapped)
{
	const char *data = (const char *)r->base + sysconf(_SC_PAGESIZE);
	size_t off = pos & (r->size - 1), first = r->size - off;
	const struct perf_event_header *h = (const void *)(data + off);

	/* sizes of records and ring are multiples of 8: a header never wraps */
	if (avail < sizeof(*h) || h->size < sizeof(*h) || h->size % 8 || h->size > avail)
		return NULL;
	if (h->size <= first)
		return h;
	memcpy(wrapped->bytes, h, first);
	memcpy(wrapped->bytes + first, data, h->size - first);
	return (const void *)wrapped->bytes;
}

bool forward_ring__drain(const struct forward_ring *r, struct forward_record *wrapped,
			 void (*fn)(const struct perf_event_header *rec, void *arg), void *arg)
{
	struct perf_event_mmap_page *page = r->base;
	uint64_t head = ring_head(page), tail = page->data_tail;
	const struct perf_event_header *h;
	bool whole = true;

	while (tail < head && whole) {
		h = forward_record_at(r, tail, head - tail, wrapped);
		whole = h;
		if (h) {
			/* read the size first: @fn may change a record that was copied */
			tail += h->size;
			fn(h, arg);
		}
	}
	/* release: the kernel may overwrite the records only after they were read */
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return whole;
}
