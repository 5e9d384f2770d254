// SPDX-License-Identifier: GPL-2.0-only
/* The test writes a ring like the kernel does, and compares it with the plain list of records. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "dump/rings/ring_image.h"
#include "perfdata/record.h"

#define RING	    4096
#define RECORDS_MAX 4096
#define SAMPLE_MIN  48 /* the smallest sample that record__valid() accepts */

struct fake_ring {
	uint8_t *data;
	size_t size;
	uint64_t head;
	uint16_t sizes[RECORDS_MAX]; /* of what was written, in order */
	size_t n;
};

static struct fake_ring *ring_new(size_t size)
{
	struct fake_ring *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->size = size;
	r->data = calloc(1, size);
	assert_non_null(r->data);
	return r;
}

static void ring_free(struct fake_ring *r)
{
	free(r->data);
	free(r);
}

/* Record number @tag: each of its bytes depends on the number. */
static void make_record(uint8_t *rec, uint16_t size, size_t tag)
{
	struct perf_event_header h = { .type = PERF_RECORD_SAMPLE, .size = size };
	uint64_t id = tag;

	memset(rec, 0x80 | (tag & 0x7f), size);
	memcpy(rec, &h, sizeof(h));
	memcpy(rec + sizeof(h), &id, sizeof(id));
}

/* Write a record as the kernel does: backwards, around the end, over the oldest bytes. */
static void put(struct fake_ring *r, uint16_t size)
{
	uint8_t rec[UINT16_MAX + 1];

	assert_true(r->n < RECORDS_MAX);
	make_record(rec, size, r->n);
	r->head -= size;
	for (size_t i = 0; i < size; i++)
		r->data[(r->head + i) & (r->size - 1)] = rec[i];
	r->sizes[r->n++] = size;
}

static void put_many(struct fake_ring *r, size_t n, uint16_t size)
{
	while (n--)
		put(r, size);
}

/* A writer has begun a record below @head. Its bytes are not valid yet. */
static void scribble(struct fake_ring *r, uint64_t head, size_t len)
{
	for (size_t i = 1; i <= len && i <= r->size; i++)
		r->data[(head - i) & (r->size - 1)] = 0xff;
}

static void check_record(const struct fake_ring *r, const struct perf_event_header *h, size_t tag)
{
	uint8_t want[UINT16_MAX + 1];

	assert_true(tag < r->n);
	assert_int_equal(h->size, r->sizes[tag]);
	make_record(want, r->sizes[tag], tag);
	assert_memory_equal(h, want, h->size);
}

/* Copy, then read the head as @after; expect the newest @want records, complete. */
static void check_wrapped(const struct fake_ring *r, uint64_t after, size_t want, bool wrapped)
{
	uint8_t *copy = malloc(ring_image__filled(r->head, r->size) + 1);
	const struct perf_event_header **v = (void *)&v;
	size_t n = 99, torn = 99, bytes = 0;
	struct ring_image img;

	assert_non_null(copy);
	ring_image__copy(copy, r->data, r->size, r->head);
	img = ring_image__make(copy, r->size, r->head, after);
	assert_int_equal(img.wrapped, wrapped);
	assert_int_equal(ring_image__records(&img, &v, &n, &torn), 0);
	assert_int_equal(n, want);
	for (size_t i = 0; i < n; i++) {
		check_record(r, v[i], r->n - n + i);
		bytes += v[i]->size;
	}
	assert_int_equal(torn, img.len - bytes);
	assert_int_equal(v == NULL, n == 0);
	free(v);
	free(copy);
}

static void check(const struct fake_ring *r, size_t want, bool wrapped)
{
	check_wrapped(r, r->head, want, wrapped);
}

static void test_empty(void **state)
{
	struct fake_ring *r = ring_new(RING);

	assert_int_equal(ring_image__filled(0, RING), 0);
	check(r, 0, false);
	check_wrapped(r, r->head - 128, 0, false); /* the first writer has begun */
	ring_free(r);
}

static void test_partly_filled(void **state)
{
	struct fake_ring *r = ring_new(RING);

	put(r, 64);
	assert_int_equal(ring_image__filled(r->head, RING), 64);
	check(r, 1, false);
	put_many(r, 9, 72);
	assert_int_equal(ring_image__filled(r->head, RING), 64 + 9 * 72);
	check(r, 10, false);
	ring_free(r);
}

/* Nothing is overwritten yet, but records in flight cover the oldest ones. */
static void test_nearly_full(void **state)
{
	struct fake_ring *r = ring_new(RING);

	put_many(r, 60, 64); /* room for the margin of 4 records */
	scribble(r, r->head, 4 * 64);
	check(r, 60, false);
	put(r, 64);
	scribble(r, r->head, 4 * 64);
	check(r, 60, false);
	scribble(r, r->head, 3 * 64 + 40); /* the end of a record with a complete header */
	check(r, 60, false);
	put_many(r, 3, 64);
	assert_int_equal(ring_image__filled(r->head, RING), RING);
	scribble(r, r->head, 4 * 64);
	check(r, 60, false);
	put(r, 64);
	check(r, 60, true);
	ring_free(r);
}

static void test_oldest_torn(void **state)
{
	struct fake_ring *r = ring_new(RING);

	put_many(r, 100, 72);
	assert_int_equal(ring_image__filled(r->head, RING), RING);
	check(r, (RING - 4 * 72) / 72, true);
	ring_free(r);
}

static void test_oldest_ends_with_the_ring(void **state)
{
	struct fake_ring *r = ring_new(RING);

	put_many(r, 200, 128);
	check(r, RING / 128 - RING_IMAGE_NESTING, true);
	ring_free(r);
}

static void test_record_across_the_wrap(void **state)
{
	struct fake_ring *r = ring_new(RING);

	put_many(r, 57, 72);
	assert_int_equal(r->head & (RING - 1),
			 RING - 8); /* the header is at the end, the rest at the front */
	check(r, (RING - 4 * 72) / 72, true);
	ring_free(r);
}

static void test_bigger_than_the_ring(void **state)
{
	struct fake_ring *r = ring_new(RING);

	put(r, RING + 64); /* its end covers its own header */
	check(r, 0, true);
	put_many(r, 3, 64);
	check(r, 3, true);
	ring_free(r);

	r = ring_new(RING);
	put(r, RING); /* complete, but a writer in flight would cover it */
	check(r, 0, false);
	ring_free(r);
}

/* The margin takes at most half of the image. */
static void test_large_records(void **state)
{
	struct fake_ring *r = ring_new(RING);

	put_many(r, 3, 1024);
	put(r, 2000);
	put(r, 64);
	put(r, 48);
	check(r, 2, true);
	put_many(r, 7, 296);
	check(r, 9, true);
	ring_free(r);
}

static void test_claimed_meanwhile(void **state)
{
	struct fake_ring *r = ring_new(RING);

	put_many(r, 100, 64);
	check_wrapped(r, r->head - 640, (RING - 640) / 64 - RING_IMAGE_NESTING, true);
	check_wrapped(r, r->head - RING, 0, true);
	check_wrapped(r, r->head - RING - 64, 0, true);
	check_wrapped(r, r->head - 1000000, 0, true);
	ring_free(r);
}

static void test_claimed_free_room(void **state)
{
	struct fake_ring *r = ring_new(RING);

	put_many(r, 10, 64); /* 3456 bytes are free */
	check_wrapped(r, r->head - 1000, 10, false);
	check_wrapped(r, r->head - 3200, 10, false);
	check_wrapped(r, r->head - 3264, 9, false); /* 192 of the 256 bytes that may be in flight
						     * are left */
	check_wrapped(r, r->head - 3504, 5, true);
	check_wrapped(r, r->head - 3456 - 640, 0, true);
	ring_free(r);
}

/* Overwrite a field in the header of record @back, counted from the newest. */
static void break_header(struct fake_ring *r, size_t back, uint32_t type, uint16_t size)
{
	struct perf_event_header h = { .type = type, .size = size };
	size_t off = r->head;

	while (back--)
		off += r->sizes[r->n - 1 - back];
	memcpy(r->data + (off & (RING - 1)), &h, sizeof(h));
}

static void test_broken_headers(void **state)
{
	static const struct {
		uint32_t type;
		uint16_t size;
	} bad[] = {
		{ PERF_RECORD_SAMPLE, 0 },
		{ 0, 0 },
		{ 0, 64 },
		{ 99, 64 },
		{ ~0U, 64 },
		{ PERF_RECORD_SAMPLE, 68 },
		{ PERF_RECORD_SAMPLE, UINT16_MAX },
		{ PERF_RECORD_SAMPLE, 40 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fake_ring *r = ring_new(RING);

		put_many(r, 10, 64);
		break_header(r, 3, bad[i].type, bad[i].size);
		check(r, 3, false);
		break_header(r, 0, bad[i].type, bad[i].size);
		check(r, 0, false);
		ring_free(r);
	}
}

/* ---- random ---- */

static size_t pick(size_t n)
{
	return (size_t)random() % n;
}

/*
 * How many of the newest records are safe. Writers have claimed @claimed bytes below the head. In
 * @in_flight more bytes, which the reader does not know of, headers may be damaged.
 */
static size_t model_count(const struct fake_ring *r, uint64_t claimed, uint64_t in_flight)
{
	uint64_t written = -r->head, intact = r->size - claimed - in_flight;
	uint64_t safe = written + claimed <= r->size ? written : r->size - claimed;
	uint64_t room = written + claimed < r->size ? r->size - written - claimed : 0;
	uint64_t sum = 0, largest = 0, margin, n = 0;

	for (size_t i = r->n; i > 0 && sum < intact && sum + r->sizes[i - 1] <= safe;
	     sum += r->sizes[--i])
		largest = r->sizes[i - 1] > largest ? r->sizes[i - 1] : largest;
	margin = RING_IMAGE_NESTING * largest;
	margin = margin > room ? margin - room : 0;
	safe -= margin < safe / 2 ? margin : safe / 2;
	for (sum = 0; n < r->n && sum + r->sizes[r->n - 1 - n] <= safe; n++)
		sum += r->sizes[r->n - 1 - n];
	return n;
}

static uint16_t random_size(size_t largest)
{
	return SAMPLE_MIN + 8 * pick((largest - SAMPLE_MIN) / 8 + 1);
}

static void check_random_ring(size_t size, size_t largest, size_t n)
{
	struct fake_ring *r = ring_new(size);
	size_t claimed, in_flight;

	while (n--)
		put(r, random_size(largest));
	claimed = pick(3) ? 8 * pick(largest) : 0;
	/* beyond the head, up to NESTING records, none larger than the existing ones */
	in_flight = r->n ? pick(RING_IMAGE_NESTING + 1) * r->sizes[r->n - 1] : 0;
	if (claimed + in_flight + largest > size / 4)
		claimed = in_flight = 0;
	scribble(r, r->head, claimed + in_flight);
	check_wrapped(r, r->head - claimed, model_count(r, claimed, in_flight),
		      -r->head + claimed > size);
	ring_free(r);
}

static void test_random(void **state)
{
	srandom(20240501);
	for (int i = 0; i < 4000; i++)
		check_random_ring((size_t)RING << pick(3), SAMPLE_MIN + 8 * pick(60), pick(400));
	for (int i = 0; i < 1000; i++) /* few records in a ring */
		check_random_ring(RING, 48 + 8 * pick(400), pick(30));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_partly_filled),
		cmocka_unit_test(test_nearly_full),
		cmocka_unit_test(test_oldest_torn),
		cmocka_unit_test(test_oldest_ends_with_the_ring),
		cmocka_unit_test(test_record_across_the_wrap),
		cmocka_unit_test(test_bigger_than_the_ring),
		cmocka_unit_test(test_large_records),
		cmocka_unit_test(test_claimed_meanwhile),
		cmocka_unit_test(test_claimed_free_room),
		cmocka_unit_test(test_broken_headers),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests_name("ring_image", tests, NULL, NULL);
}
