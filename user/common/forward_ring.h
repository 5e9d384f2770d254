/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring of a perf event that the kernel does not overwrite: records that do not fit are lost.
 */
#ifndef FRBPF_COMMON_FORWARD_RING_H
#define FRBPF_COMMON_FORWARD_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct forward_ring { /* { 0 } is an unmapped one */
	void *base;   /* control page and data; NULL: not mapped */
	size_t size;  /* bytes of data, a power of two */
};

/*
 * Map the ring of the event @fd, of @bytes, a power of two of pages. 0 or negative errno of
 * mmap(2).
 */
int forward_ring__map(int fd, size_t bytes, struct forward_ring *ret);
void forward_ring__unmap(struct forward_ring *r); /* an unmapped one is legal */

/* Bytes that wait to be drained. */
uint64_t forward_ring__waiting(const struct forward_ring *r);

/* Room for any record: its size has 16 bits. */
struct forward_record {
	char bytes[UINT16_MAX + 1] __attribute__((aligned(8)));
};

/*
 * Call @fn with each waiting record, then release them. A record that wraps is copied to @wrapped,
 * where @fn may change it. False: the ring holds a malformed record; it and all after it are
 * dropped.
 */
bool forward_ring__drain(const struct forward_ring *r, struct forward_record *wrapped,
			 void (*fn)(const struct perf_event_header *rec, void *arg), void *arg);

#endif
