// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of large blocks, while BPF objects are loaded and after that.
 * with: others
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "common/heap.h"

#define BLOCK (6 * 1024 * 1024)

static bool has_malloc_of_libc(void)
{
	volatile char *v = malloc(BLOCK);
	bool has;

	assert_non_null(v);
	*v = 1; /* otherwise the compiler leaves out both calls */
	has = mallinfo2().hblkhd + mallinfo2().uordblks >= BLOCK;
	free((void *)v);
	return has;
}

static long page_faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt;
}

/* Page faults when a block is allocated, written and freed */
static long faults_of_block(void)
{
	long before = page_faults();
	char *v = malloc(BLOCK);

	assert_non_null(v);
	memset(v, 1, BLOCK);
	assert_int_equal(v[BLOCK / 2], 1);
	free(v);
	return page_faults() - before;
}

static void blocks_are_kept_until_the_end(void **state)
{
	volatile char *v;
	long first;

	if (!has_malloc_of_libc())
		skip();
	heap__begin_load();
	first = faults_of_block();
	assert_true(first > 0);
	assert_true(faults_of_block() * 4 < first);
	assert_true(mallinfo2().fordblks >= BLOCK);
	heap__end_load();
	assert_true(mallinfo2().fordblks < BLOCK);
	v = malloc(BLOCK);
	assert_non_null(v);
	*v = 1;
	assert_true(mallinfo2().hblkhd >= BLOCK); /* the block is a mapping of its own */
	free((void *)v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_kept_until_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
