/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An overwritable ring of perf for one CPU (attr.write_backward, mapped PROT_READ). The kernel
 * writes towards lower addresses and never stops. The newest record begins at data_head
 * (kernel/events/ring_buffer.c). Life: map, pause and resume any number of times, unmap.
 *
 * A ring that is drained (mapped writable) is one of common/forward_ring.h.
 */
#ifndef FRBPF_RECORD_RING_H
#define FRBPF_RECORD_RING_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct ring {
	int fd;	     /* descriptor of the event that owns the ring; borrowed */
	void *base;  /* control page and data area; NULL: not mapped */
	size_t size; /* bytes of the data area, a power of two */
	size_t mapped;
};

/*
 * Map the ring of @fd. 0 or negative errno with a message in @err (memory limits, how to raise
 * them).
 */
int ring__map(struct ring *r, int fd, size_t size, struct err *err);
/* The same for a ring that is drained: see common/forward_ring.h. */
int ring__map_forward(struct ring *r, int fd, size_t size, struct err *err);
void ring__unmap(struct ring *r);

/*
 * Get the position of the newest record. It starts at 0 and decreases: -head is the number of bytes
 * ever written.
 */
uint64_t ring__head(const struct ring *r);
const uint8_t *ring__data(const struct ring *r);

/*
 * Make the kernel drop and count records until the ring is resumed. This is only a flag: a writer
 * that has passed it finishes its record, so read the head again after copying. 0 or negative
 * errno.
 */
int ring__pause(const struct ring *r);
int ring__resume(const struct ring *r);

#endif
