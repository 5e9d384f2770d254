// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "dump/rings/ring_image.h"
#include "perfdata/record.h"

size_t ring_image__filled(uint64_t head, size_t size)
{
	uint64_t written = -head;

	return written < size ? written : size;
}

void ring_image__copy(uint8_t *dst, const uint8_t *data, size_t size, uint64_t head)
{
	size_t filled = ring_image__filled(head, size);
	size_t first = head & (size - 1);
	size_t upper = size - first; /* bytes from the head to the end of the ring */

	if (filled > upper) {
		memcpy(dst + upper, data, filled - upper);
		filled = upper;
	}
	memcpy(dst, data + first, filled);
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* before the caller reads the head again */
}

struct ring_image ring_image__make(const uint8_t *copy, size_t size, uint64_t head, uint64_t after)
{
	struct ring_image img = { .data = copy, .len = ring_image__filled(head, size) };
	uint64_t claimed = head - after;
	uint64_t room = size - img.len; /* free for writers before they reach the oldest record */

	img.wrapped = -after > size;
	img.room = claimed < room ? room - claimed : 0;
	claimed = claimed > room ? claimed - room : 0;
	img.len -= claimed < img.len ? claimed : img.len;
	return img;
}

static const struct perf_event_header *image_record_at(const struct ring_image *img, size_t off)
{
	const struct perf_event_header *h = (const void *)(img->data + off);

	if (img->len - off < sizeof(*h) || !record__valid(h, img->len - off))
		return NULL;
	return h;
}

/* The end of what a reader may trust, as records in flight may have overwritten the old end. */
static size_t safe_end(const struct ring_image *img, size_t largest)
{
	size_t margin = RING_IMAGE_NESTING * largest;

	if (margin <= img->room)
		return img->len;
	margin -= img->room;
	return img->len - (margin < img->len / 2 ? margin : img->len / 2);
}

/* Get all whole records, newest first, and the size of the largest. */
static int walk_image(const struct ring_image *img, const struct perf_event_header ***ret,
		      size_t *ret_n, size_t *ret_largest)
{
	const struct perf_event_header **v = NULL, *h;
	size_t n = 0, cap = 0;

	for (size_t off = 0; off < img->len && (h = image_record_at(img, off)); off += h->size) {
		if (!ARRAY_HAS_ROOM(v, n, cap, 1024)) {
			free(v);
			return -ENOMEM;
		}
		v[n++] = h;
		*ret_largest = h->size > *ret_largest ? h->size : *ret_largest;
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

static void reverse_records(const struct perf_event_header **v, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		const struct perf_event_header *h = v[i];

		v[i] = v[n - 1 - i];
		v[n - 1 - i] = h;
	}
}

int ring_image__records(const struct ring_image *img, const struct perf_event_header ***ret,
			size_t *ret_n, size_t *ret_torn)
{
	const struct perf_event_header **v;
	size_t n, largest = 0, end, whole = 0;
	int err = walk_image(img, &v, &n, &largest);

	if (err)
		return err;
	end = safe_end(img, largest);
	while (n && (whole = (const uint8_t *)v[n - 1] - img->data + v[n - 1]->size) > end)
		n--;
	*ret_torn = img->len - (n ? whole : 0);
	if (!n) {
		free(v);
		v = NULL;
	}
	reverse_records(v, n);
	*ret = v;
	*ret_n = n;
	return 0;
}
