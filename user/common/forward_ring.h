/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring of a perf event that the kernel does not overwrite: what is not drained in time is lost. */
#ifndef FRBPF_COMMON_FORWARD_RING_H
#define FRBPF_COMMON_FORWARD_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct forward_ring { /* { 0 } is none */
	void *base;   /* control page and data; NULL: not mapped */
	size_t size;  /* bytes of data, a power of two */
};

/* Map the ring of the event @fd, of @bytes, a power of two of pages. 0 or negative errno of mmap(2). */
int forward_ring__map(int fd, size_t bytes, struct forward_ring *ret);
void forward_ring__unmap(struct forward_ring *r); /* none is legal */

/* Bytes that wait. */
uint64_t forward_ring__waiting(const struct forward_ring *r);

/* Room for any record: its size has 16 bits. */
struct forward_record {
	char bytes[UINT16_MAX + 1] __attribute__((aligned(8)));
};

/*
 * Hand every waiting record to @fn, in one piece, and give the room back. @wrapped is where one that wraps is put
 * together; @fn may write there. False: there is something else in the ring, which is dropped with what follows.
 */
bool forward_ring__drain(const struct forward_ring *r, struct forward_record *wrapped,
			 void (*fn)(const struct perf_event_header *rec, void *arg), void *arg);

#endif
