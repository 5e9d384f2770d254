// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"

static void check(const struct buf *b, const char *text)
{
	assert_int_equal(b->len, strlen(text));
	assert_string_equal(b->data, text);
	assert_true(b->cap > b->len);
}

static void test_adding(void **state)
{
	struct buf b = { 0 };

	assert_int_equal(buf__add(&b, NULL, 0), 0);
	check(&b, "");
	assert_int_equal(buf__add_str(&b, "one"), 0);
	check(&b, "one");
	assert_int_equal(buf__add(&b, "two, not this", 3), 0);
	check(&b, "onetwo");
	assert_int_equal(buf__printf(&b, " %d%s", 3, "!"), 0);
	check(&b, "onetwo 3!");
	assert_int_equal(buf__printf(&b, "%s", ""), 0);
	check(&b, "onetwo 3!");
	buf__free(&b);
	assert_null(b.data);
	assert_int_equal(b.len, 0);
	buf__free(&b);
	buf__free(NULL);
}

static void test_zeros(void **state)
{
	struct buf b = { 0 };

	assert_int_equal(buf__add_str(&b, "x"), 0);
	assert_int_equal(buf__add_zero(&b, 7), 0);
	assert_int_equal(b.len, 8);
	assert_memory_equal(b.data, "x\0\0\0\0\0\0\0", 9);
	assert_int_equal(buf__add_zero(&b, 0), 0);
	assert_int_equal(b.len, 8);
	buf__free(&b);
}

static void test_growing(void **state)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < 100000; i++) {
		char c = 'a' + i % 26;

		assert_int_equal(buf__add(&b, &c, 1), 0);
	}
	assert_int_equal(b.len, 100000);
	for (size_t i = 0; i < b.len; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	assert_int_equal(b.data[b.len], 0);
	assert_int_equal(buf__printf(&b, "%0*d", 50000, 1), 0);
	assert_int_equal(b.len, 150000);
	assert_int_equal(b.data[149999], '1');
	assert_int_equal(b.data[99999 + 1], '0');
	buf__free(&b);
}

static void test_too_large(void **state)
{
	struct buf b = { 0 };

	assert_int_equal(buf__add_str(&b, "kept"), 0);
	assert_int_equal(buf__add(&b, "x", SIZE_MAX), -ENOMEM);
	assert_int_equal(buf__add_zero(&b, SIZE_MAX - 4), -ENOMEM);
	assert_int_equal(buf__add_zero(&b, SIZE_MAX / 2), -ENOMEM);
	check(&b, "kept");
	buf__free(&b);
}

/* Files of procfs report no size and are read in pieces. */
static void test_proc_files(void **state)
{
	struct buf b = { 0 }, again = { 0 };
	char status[64];

	snprintf(status, sizeof(status), "\nPid:\t%d\n", getpid());
	assert_int_equal(buf__add_str(&b, "before:"), 0);
	assert_int_equal(buf__read_file(&b, "/proc/self/status", 64 * 1024), 0);
	assert_int_equal(strncmp(b.data, "before:Name:\t", 13), 0);
	assert_non_null(strstr(b.data, status));
	assert_int_equal(b.len, strlen(b.data));
	b.len = 0;
	assert_int_equal(buf__read_file(&b, "/proc/kallsyms", 256 << 20), 0);
	assert_true(b.len > 64 * 1024); /* more than one read returns */
	assert_int_equal(b.data[b.len - 1], '\n');
	assert_int_equal(buf__read_file(&again, "/proc/self/cmdline", 4096), 0);
	assert_int_equal(again.data[again.len], 0);
	buf__free(&b);
	buf__free(&again);
}

static void write_temporary(char *path, size_t len)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
}

static void test_bound(void **state)
{
	static const size_t sizes[] = { 1, 4095, 4096, 4097, 20000 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char path[] = "/tmp/frbpf-buf-XXXXXX";
		struct buf b = { 0 };

		write_temporary(path, sizes[i]);
		assert_int_equal(buf__add_str(&b, "kept"), 0);
		assert_int_equal(buf__read_file(&b, path, sizes[i] - 1), -EFBIG);
		check(&b, "kept");
		assert_int_equal(buf__read_file(&b, path, sizes[i]), 0);
		assert_int_equal(b.len, 4 + sizes[i]);
		assert_int_equal(unlink(path), 0);
		buf__free(&b);
	}
}

static void test_empty_file(void **state)
{
	struct buf b = { 0 };

	assert_int_equal(buf__read_file(&b, "/dev/null", 0), 0);
	assert_int_equal(b.len, 0);
	buf__free(&b);
}

static void test_errors(void **state)
{
	struct buf b = { 0 };

	assert_int_equal(buf__read_file(&b, "/proc/self/no-such-file", 10), -ENOENT);
	assert_int_equal(buf__read_fd(&b, -1, 10), -EBADF);
	assert_int_equal(buf__read_file(&b, "/proc/self", 10), -EISDIR);
	assert_int_equal(b.len, 0);
	assert_int_equal(buf__add_str(&b, "kept"), 0);
	assert_int_equal(buf__read_file(&b, "/proc/self", 10), -EISDIR);
	check(&b, "kept");
	buf__free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adding),	   cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_growing),	   cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_proc_files), cmocka_unit_test(test_bound),
		cmocka_unit_test(test_empty_file), cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
