/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The content of an overwritable ring at one moment, put in order. The newest record begins at byte
 * 0 of the image; higher offsets are older. Pure: a ring is only memory and a head.
 *
 * The bytes are not trusted. In a full ring the oldest record is nearly always partly overwritten.
 * A writer that was active during the copy tears even more.
 */
#ifndef FRBPF_DUMP_RINGS_RING_IMAGE_H
#define FRBPF_DUMP_RINGS_RING_IMAGE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_image {
	const uint8_t *data; /* borrowed: the copy */
	size_t len;	     /* bytes that no writer can have touched since the head was read */
	size_t room;  /* bytes that writers can still take before they reach the oldest record */
	bool wrapped; /* older records existed and were overwritten */
};

/* Bytes that hold records in a ring of @size bytes with head @head: all, once it has wrapped. */
size_t ring_image__filled(uint64_t head, size_t size);

/*
 * Copy the filled bytes from @head on, of the ring @data of @size bytes, to @dst. Reads the oldest
 * first, as a running writer overwrites these next.
 */
void ring_image__copy(uint8_t *dst, const uint8_t *data, size_t size, uint64_t head);

/*
 * Make the image of a copy made at @head. @after is the head after the copy. Writers claimed
 * [after, head) meanwhile; in a full ring these are the oldest @head - @after bytes.
 */
struct ring_image ring_image__make(const uint8_t *copy, size_t size, uint64_t head, uint64_t after);

/*
 * Number of records that one CPU can have in flight: task, softirq, hardirq, NMI
 * (kernel/events/internal.h).
 */
#define RING_IMAGE_NESTING 4

/*
 * Get the records of the image, oldest first. Stops at the first one that is not whole and valid:
 * the torn oldest one, or the zeros of a ring that never filled.
 *
 * The head covers a record only when it is complete, so up to RING_IMAGE_NESTING times the largest
 * record may be in flight. If that exceeds the room of the ring, the excess is dropped at the old
 * end, too, but at most half of the image.
 *
 * *ret is an array of *ret_n pointers into the image, owned by the caller; NULL: no records.
 * *ret_torn: bytes at the old end that are not a record, or were dropped; if not 0, older records
 * existed. 0 or -ENOMEM.
 */
int ring_image__records(const struct ring_image *img, const struct perf_event_header ***ret,
			size_t *ret_n, size_t *ret_torn);

#endif
