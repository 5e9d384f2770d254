// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "sideband/map_build_id.h"
#include "symbols/module.h"
#include "temp_tree.h"

#define GONE INT32_MAX /* a pid that no process has */

static char dir[] = "/tmp/frbpf-map-build-id.XXXXXX";
static char program[PATH_MAX], fifo[PATH_MAX];
static struct map_file_id file;
static struct build_id own;
static struct examiner *examiner;

static int setup(void **state)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;
	struct stat st;

	if (examiner__new(&examiner) || !mkdtemp(dir))
		return -1;
	snprintf(program, sizeof(program), "%s/program", dir);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	to = open(program, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	if (from < 0 || to < 0 || fstat(from, &st) || build_id__read_fd(from, &own) ||
	    sendfile(to, from, NULL, st.st_size) != st.st_size || fstat(to, &st) ||
	    mkfifo(fifo, 0600))
		return -1;
	close(from);
	close(to);
	file = (struct map_file_id){ .maj = major(st.st_dev),
				     .min = minor(st.st_dev),
				     .ino = st.st_ino };
	return 0;
}

static int teardown(void **state)
{
	examiner__free(examiner);
	remove_temp_tree(dir);
	return 0;
}

static bool find_build_id(struct build_id *ret)
{
	struct map_build_ids *ids;
	bool found;

	assert_int_equal(map_build_ids__new(examiner, &ids), 0);
	found = map_build_ids__find(ids, GONE, 0x1000, 0x2000, &file, program, UINT64_MAX, ret);
	map_build_ids__free(ids);
	return found;
}

static void test_of_ended_process(void **state)
{
	struct build_id id;

	assert_true(find_build_id(&id));
	assert_int_equal(id.size, own.size);
	assert_memory_equal(id.data, own.data, own.size);
}

/* The owner of the program replaces it by a link to a file that must not be opened. */
static void test_name_is_taken(void **state)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct elf_symbols symbols = { 0 };
	char event[512], kept[PATH_MAX + 8];
	struct build_id id;

	snprintf(kept, sizeof(kept), "%s.kept", program);
	assert_int_equal(rename(program, kept), 0);
	assert_int_equal(symlink(fifo, program), 0);
	assert_true(inotify_add_watch(watch, fifo, IN_OPEN) >= 0);
	assert_false(find_build_id(&id));
	assert_non_null(module_files__read(program, &own, GONE, 0x1000, 0x2000, &symbols));
	assert_true(read(watch, event, sizeof(event)) < 0);
	close(watch);
	assert_int_equal(rename(kept, program), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_ended_process),
		cmocka_unit_test(test_name_is_taken),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
