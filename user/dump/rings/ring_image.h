/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The content of an overwritable ring at one moment, straightened out: byte 0 of the image is where
 * the newest record begins, and walking up goes back in time. Pure: rings are seen only as memory
 * and a head.
 *
 * Nothing here trusts the bytes: in a full ring the oldest record is nearly always partly
 * overwritten, and a writer that was under way while the ring was copied has torn more than that.
 */
#ifndef FRBPF_DUMP_RINGS_RING_IMAGE_H
#define FRBPF_DUMP_RINGS_RING_IMAGE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_image {
	const uint8_t *data; /* borrowed: the copy */
	size_t len;	     /* bytes that no writer can have touched since */
	size_t room;  /* bytes that writers can still take before they reach the oldest record */
	bool wrapped; /* older records existed and were overwritten */
};

/* Bytes of a ring of @size that hold records when its head is @head: all of it once it has wrapped.
 */
size_t ring_image__filled(uint64_t head, size_t size);

/* Copy the @filled bytes from @head on out of the ring @data of @size bytes into @dst, the oldest
 * first: what a running writer overtakes next is read first. */
void ring_image__copy(uint8_t *dst, const uint8_t *data, size_t size, uint64_t head);

/* The image of a copy made at @head, when the head read after the copy is @after: writers have
 * claimed [after, head) meanwhile, which lies on the oldest @head - @after bytes of a full ring. */
struct ring_image ring_image__make(const uint8_t *copy, size_t size, uint64_t head, uint64_t after);

/* How many records one CPU can have in flight: task, softirq, hardirq, NMI
 * (kernel/events/internal.h). */
#define RING_IMAGE_NESTING 4

/*
 * The records of the image, oldest first. Stops at the first thing that is not a whole valid record
 * (the torn oldest one, or the zeros of a ring that never filled). A record in flight shows in the
 * head only when it is complete, so RING_IMAGE_NESTING times the largest record may be on its way:
 * what of that the room of the ring does not take is given up at the old end too (at most half of
 * the image). *ret is an array of *ret_n pointers into the image, owned by the caller, NULL when
 * there is none; *ret_torn is the number of bytes at the old end that were no record or given up:
 * with any, older records existed. 0 or -ENOMEM.
 */
int ring_image__records(const struct ring_image *img, const struct perf_event_header ***ret,
			size_t *ret_n, size_t *ret_torn);

#endif
