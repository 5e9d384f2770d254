/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An overwritable per-CPU ring of perf (attr.write_backward, mapped PROT_READ): the kernel writes
 * towards lower addresses and never stops; the newest record begins at data_head
 * (kernel/events/ring_buffer.c). Life: map, pause and resume as often as needed, unmap.
 */
#ifndef FRBPF_RECORD_RING_H
#define FRBPF_RECORD_RING_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct ring {
	int fd;	     /* of the event that owns the ring; borrowed */
	void *base;  /* control page and data area; NULL: not mapped */
	size_t size; /* bytes of the data area, a power of two */
	size_t mapped;
};

/* Map the ring of @fd. Negative errno with words (memory limits and how to raise them) in @err. */
int ring__map(struct ring *r, int fd, size_t size, struct err *err);
void ring__unmap(struct ring *r);

/* Where the newest record begins. It starts at 0 and decreases: -head is the number of bytes ever
 * written. */
uint64_t ring__head(const struct ring *r);
const uint8_t *ring__data(const struct ring *r);

/* Let the kernel drop records (and count them) until resumed. Only a flag: a writer that has passed
 * it still finishes its record, so read the head again after copying. 0 or negative errno. */
int ring__pause(const struct ring *r);
int ring__resume(const struct ring *r);

#endif
