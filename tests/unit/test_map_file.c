// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/proc_file.h"

static uint64_t page;
static uint64_t start; /* of one mapped page of a file, with a hole after it */

static int map_one_page(void **state)
{
	FILE *f = tmpfile();
	void *p;

	page = sysconf(_SC_PAGESIZE);
	if (!f || ftruncate(fileno(f), 3 * page))
		return -1;
	p = mmap(NULL, 3 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0);
	fclose(f);
	start = (uintptr_t)p;
	return p == MAP_FAILED || munmap((char *)p + page, 2 * page) ? -1 : 0;
}

static void check(uint64_t from, uint64_t told, uint64_t wanted)
{
	char path[MAP_FILE_PATH_MAX], is[MAP_FILE_PATH_MAX];

	snprintf(is, sizeof(is), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, getpid(), from, wanted);
	map_file__path(getpid(), from, told, path);
	assert_string_equal(path, is);
}

static void test_exact_mapping(void **state)
{
	check(start, start + page, start + page);
}

static void test_told_with_all_segments(void **state)
{
	check(start, start + 3 * page, start + page);
}

/* A path for a mapping that does not exist names no other mapping. */
static void test_missing_mapping(void **state)
{
	char path[MAP_FILE_PATH_MAX];

	check(start + page, start + 2 * page, start + 2 * page);
	check(start, start + page / 2, start + page / 2);
	map_file__path(UINT32_MAX, start, start + page, path);
	assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_mapping),
		cmocka_unit_test(test_told_with_all_segments),
		cmocka_unit_test(test_missing_mapping),
	};

	return cmocka_run_group_tests(tests, map_one_page, NULL);
}
