// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "dump/window/timeline.h"
#include "perfdata/record.h"

#define MANY 20000

/* Entries are identified by their index here; nobody reads their contents. */
static struct perf_event_header places[MANY];

static void append_place(struct timeline *t, uint64_t time)
{
	assert_true(t->n < MANY);
	assert_int_equal(timeline__add(t, time, &places[t->n]), 0);
}

static int compare(const void *a, const void *b)
{
	const struct timeline_entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->rec > y->rec) - (x->rec < y->rec);
}

/* Sort @t, and compare with a sort by time and order of adding. Frees @t. */
static void check_sort(struct timeline *t)
{
	struct timeline_entry *want = malloc((t->n + 1) * sizeof(*want));
	size_t n = t->n;

	assert_non_null(want);
	if (n)
		memcpy(want, t->v, n * sizeof(*want));
	qsort(want, n, sizeof(*want), compare);
	assert_int_equal(timeline__sort(t), 0);
	assert_int_equal(t->n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(t->v[i].time, want[i].time);
		assert_ptr_equal(t->v[i].rec, want[i].rec);
	}
	free(want);
	timeline__free(t);
}

static void test_empty_and_single(void **state)
{
	struct timeline t = { 0 };

	assert_int_equal(timeline__sort(&t), 0);
	assert_int_equal(t.n, 0);
	timeline__free(&t);
	append_place(&t, 7);
	check_sort(&t);
	assert_int_equal(t.n, 0);
	assert_null(t.v);
	timeline__free(&t);
}

static void test_two(void **state)
{
	static const uint64_t times[][2] = { { 1, 2 }, { 2, 1 }, { 2, 2 }, { UINT64_MAX, 0 } };

	for (size_t i = 0; i < 4; i++) {
		struct timeline t = { 0 };

		append_place(&t, times[i][0]);
		append_place(&t, times[i][1]);
		check_sort(&t);
	}
}

static void test_equal_times_keep_their_order(void **state)
{
	struct timeline t = { 0 };

	for (size_t i = 0; i < MANY; i++)
		append_place(&t, 5);
	check_sort(&t);
	for (size_t i = 0; i < MANY; i++) /* many sources, all with the same few times */
		append_place(&t, i % 100 / 10);
	check_sort(&t);
}

/* One source whose records are sometimes a few positions late. */
static void test_slightly_unordered(void **state)
{
	struct timeline t = { 0 };

	for (size_t i = 0; i < MANY; i++)
		append_place(&t, 1000 + i * 10 - (i % 37 == 0 ? 25 : 0));
	check_sort(&t);
}

static void test_many_runs(void **state)
{
	static const size_t sources[] = { 2, 3, 64, 257, 5000, MANY };

	for (size_t s = 0; s < ARRAY_SIZE(sources); s++) {
		struct timeline t = { 0 };
		size_t each = MANY / sources[s];

		for (size_t i = 0; i < sources[s] * each; i++)
			append_place(&t, i % each * 3 + i / each % 4);
		check_sort(&t);
	}
}

static void test_falling(void **state)
{
	struct timeline t = { 0 };

	for (size_t i = 0; i < MANY; i++)
		append_place(&t, MANY - i);
	check_sort(&t);
}

static void test_random(void **state)
{
	srandom(1);
	for (int round = 0; round < 300; round++) {
		struct timeline t = { 0 };
		uint64_t span = 1 + random() % (round % 2 ? 10 : 100000);
		size_t n = random() % 1500;

		for (size_t i = 0; i < n; i++)
			append_place(&t, random() % span);
		check_sort(&t);
	}
}

/* Adding continues after a sort. */
static void test_add_after_sort(void **state)
{
	struct timeline t = { 0 };

	for (size_t i = 0; i < 1500; i++)
		append_place(&t, i * 7 % 1000);
	assert_int_equal(timeline__sort(&t), 0);
	for (size_t i = 0; i < 1500; i++)
		append_place(&t, i * 11 % 1000);
	assert_int_equal(timeline__sort(&t), 0);
	assert_int_equal(t.n, 3000);
	for (size_t i = 1; i < t.n; i++)
		assert_true(t.v[i - 1].time <= t.v[i].time);
	timeline__free(&t);
}

static void add_comm(struct buf *b, uint64_t time)
{
	const struct record_trailer trailer = { .time = time };

	assert_int_equal(record__add_comm(b, 0, 1, 1, "comm", &trailer), 0);
}

static void test_add_buffer(void **state)
{
	struct timeline t = { 0 };
	struct buf b = { 0 };

	assert_int_equal(timeline__add_buffer(&t, NULL, 0), 0);
	assert_int_equal(t.n, 0);
	add_comm(&b, 30);
	add_comm(&b, 10);
	assert_int_equal(timeline__add_buffer(&t, b.data, b.len), 0);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.v[0].time, 30);
	assert_ptr_equal(t.v[0].rec, b.data);
	assert_int_equal(t.v[1].time, 10);
	assert_ptr_equal(t.v[1].rec, b.data + b.len / 2);
	timeline__free(&t);
	buf__free(&b);
}

static void test_broken_buffer(void **state)
{
	struct timeline t = { 0 };
	struct perf_event_header *h;
	struct buf b = { 0 };
	char *exact;

	add_comm(&b, 1);
	add_comm(&b, 2);
	for (size_t len = b.len / 2 + 1; len < b.len; len++) { /* the second is cut at every byte */
		exact = malloc(len);
		assert_non_null(exact);
		memcpy(exact, b.data, len);
		assert_int_equal(timeline__add_buffer(&t, exact, len), -EINVAL);
		free(exact);
	}
	h = (void *)(b.data + b.len / 2);
	h->type = 0;
	assert_int_equal(timeline__add_buffer(&t, b.data, b.len), -EINVAL);
	h->type = PERF_RECORD_COMM;
	h->size = 0;
	assert_int_equal(timeline__add_buffer(&t, b.data, b.len), -EINVAL);
	timeline__free(&t);
	buf__free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_and_single),
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_equal_times_keep_their_order),
		cmocka_unit_test(test_slightly_unordered),
		cmocka_unit_test(test_many_runs),
		cmocka_unit_test(test_falling),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_add_after_sort),
		cmocka_unit_test(test_add_buffer),
		cmocka_unit_test(test_broken_buffer),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
