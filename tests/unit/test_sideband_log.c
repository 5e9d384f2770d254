// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "perfdata/record.h"
#include "sideband/sideband_log.h"

static int add_record(struct sideband_log *l, uint64_t time, uint32_t tag)
{
	const struct record_trailer t = { .time = time };
	struct buf b = { 0 };
	int ret;

	assert_int_equal(record__add_comm(&b, 0, tag, tag, "comm", &t), 0);
	ret = sideband_log__append(l, (const void *)b.data);
	buf__free(&b);
	return ret;
}

static uint32_t tag_of(const struct perf_event_header *h)
{
	return ((const struct record_comm *)h)->pid;
}

struct folded {
	uint64_t last;
	size_t n;
};

static void check_order(const struct perf_event_header *rec, void *arg)
{
	struct folded *f = arg;

	assert_true(record__time(rec) >= f->last);
	f->last = record__time(rec);
	f->n++;
}

static size_t count(const struct sideband_log *l, uint64_t from, uint64_t to)
{
	struct sideband_log_view v;
	struct sideband_ref *refs;
	size_t n, i;

	assert_int_equal(sideband_log__view(l, &v), 0);
	assert_int_equal(sideband_log_view__sorted(&v, from, to, &refs, &n), 0);
	for (i = 1; i < n; i++)
		assert_true(refs[i - 1].time <= refs[i].time);
	free(refs);
	sideband_log_view__free(&v);
	return n;
}

static void test_empty(void **state)
{
	struct folded f = { 0 };
	struct sideband_log *l;

	assert_int_equal(sideband_log__new(0, &l), 0);
	assert_int_equal(count(l, 0, UINT64_MAX), 0);
	assert_int_equal(sideband_log__oldest_chunk_end(l), 0);
	assert_int_equal(sideband_log__fold(l, 100, check_order, &f), 0);
	assert_int_equal(sideband_log__base_time(l), 100);
	assert_int_equal(add_record(l, 99, 1), -ESTALE);
	assert_int_equal(add_record(l, 100, 1), 0);
	assert_int_equal(count(l, 0, UINT64_MAX), 1);
	sideband_log__free(l);
	sideband_log__free(NULL);
}

/* Records of equal time stay in order of arrival, across CPUs and chunks. */
static void test_stable(void **state)
{
	struct sideband_log_view v;
	struct sideband_ref *refs;
	struct sideband_log *l;
	size_t n, i;
	uint32_t tag;

	assert_int_equal(sideband_log__new(0, &l), 0);
	srand(1);
	for (tag = 0; tag < 20000; tag++)
		assert_int_equal(add_record(l, 1000 + rand() % 50, tag), 0);
	assert_true(sideband_log__n_chunks(l) > 4);
	assert_int_equal(sideband_log__view(l, &v), 0);
	assert_int_equal(sideband_log_view__sorted(&v, 1010, 1020, &refs, &n), 0);
	assert_true(n > 3000 && n < 6000);
	for (i = 1; i < n; i++) {
		assert_in_range(refs[i].time, 1010, 1020);
		assert_true(refs[i - 1].time <= refs[i].time);
		if (refs[i - 1].time == refs[i].time)
			assert_true(tag_of(refs[i - 1].rec) < tag_of(refs[i].rec));
	}
	free(refs);
	sideband_log_view__free(&v);
	sideband_log__free(l);
}

/* Every record is folded exactly once, in order, or is still there. */
static void test_fold(void **state)
{
	struct folded f = { 0 };
	struct sideband_log *l;
	size_t folded = 0, bytes, n_stale = 0;
	uint32_t i, n = 50000;
	uint64_t end;

	assert_int_equal(sideband_log__new(64 * 1024, &l), 0);
	srand(2);
	for (i = 0; i < n; i++) {
		/* two CPUs, drained in batches of ten, that overlap by up to 30 */
		if (add_record(l, i + (i / 10 % 2 ? 0 : 20) + 1, i) == -ESTALE)
			n_stale++;
		if (sideband_log__n_chunks(l) > 4) {
			bytes = sideband_log__bytes(l);
			end = sideband_log__oldest_chunk_end(l);
			folded += sideband_log__fold(l, end + 1, check_order, &f);
			assert_int_equal(sideband_log__base_time(l), end + 1);
			assert_true(sideband_log__bytes(l) < bytes);
		}
	}
	assert_true(n_stale < n / 100);
	assert_int_equal(folded, f.n);
	assert_int_equal(folded + count(l, 0, UINT64_MAX) + n_stale, n);
	folded += sideband_log__fold(l, UINT64_MAX, check_order, &f);
	assert_int_equal(folded + n_stale, n);
	assert_int_equal(sideband_log__n_chunks(l), 0);
	assert_int_equal(sideband_log__fold(l, 5, check_order, &f), 0);
	sideband_log__free(l);
}

/* A view shows its moment, and stays readable while records are appended. */
static void test_view(void **state)
{
	struct sideband_log_view v;
	struct sideband_ref *refs;
	struct sideband_log *l;
	uint32_t i;
	size_t n;

	assert_int_equal(sideband_log__new(0, &l), 0);
	for (i = 0; i < 10; i++)
		add_record(l, 10 + i, i);
	assert_int_equal(sideband_log__view(l, &v), 0);
	for (i = 0; i < 5000; i++)
		add_record(l, 5, i);
	assert_int_equal(sideband_log_view__sorted(&v, 0, UINT64_MAX, &refs, &n), 0);
	assert_int_equal(n, 10);
	assert_int_equal(tag_of(refs[9].rec), 9);
	free(refs);
	sideband_log_view__free(&v);
	sideband_log__free(l);
}

/* The largest possible record fits into a chunk of any size. */
static void test_large_record(void **state)
{
	struct sideband_log *l;
	char *big = calloc(1, 65536);
	struct perf_event_header *h = (void *)big;
	int i;

	assert_non_null(big);
	h->type = PERF_RECORD_CGROUP;
	h->size = 65528;
	assert_true(record__valid(h, h->size));
	assert_int_equal(sideband_log__new(1, &l), 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(sideband_log__append(l, h), 0);
	assert_int_equal(sideband_log__n_chunks(l), 3);
	assert_int_equal(count(l, 0, 0), 3);
	sideband_log__free(l);
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	     cmocka_unit_test(test_stable),
		cmocka_unit_test(test_fold),	     cmocka_unit_test(test_view),
		cmocka_unit_test(test_large_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
