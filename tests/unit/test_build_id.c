// SPDX-License-Identifier: GPL-2.0-only
/* Build ids of files, of the kernel and of notes in memory.
 * with: others */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "perfdata/build_id.h"

static int read_path(const char *path, struct build_id *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;

	assert_true(fd >= 0);
	r = build_id__read_fd(fd, ret);
	close(fd);
	return r;
}

static void add_note(struct buf *b, const char *owner, uint32_t owner_size, uint32_t type,
		     const void *desc, uint32_t desc_size)
{
	Elf64_Nhdr n = { owner_size, desc_size, type };

	assert_int_equal(buf__add(b, &n, sizeof(n)), 0);
	assert_int_equal(buf__add(b, owner, owner_size), 0);
	assert_int_equal(buf__add_zero(b, -owner_size & 3), 0);
	assert_int_equal(buf__add(b, desc, desc_size), 0);
	assert_int_equal(buf__add_zero(b, -desc_size & 3), 0);
}

/* At the end of an allocation, so that the sanitizer sees a read beyond it. */
static int parse(const struct buf *b, size_t len, struct build_id *ret)
{
	char *copy = malloc(len ? len : 1);
	int err;

	memcpy(copy, b->data, len);
	err = build_id__from_notes(copy, len, ret);
	free(copy);
	return err;
}

static void test_notes(void **state)
{
	static const uint8_t desc[20] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					  11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
	struct build_id id = { 0 };
	struct buf b = { 0 };
	size_t len;

	add_note(&b, "Linux", 6, 3, "abcde", 5); /* another owner, with padding */
	add_note(&b, "GNU", 4, NT_GNU_ABI_TAG, desc, 16);
	add_note(&b, "GNU", 4, NT_GNU_BUILD_ID, desc, 20);
	assert_int_equal(parse(&b, b.len, &id), 0);
	assert_int_equal(id.size, 20);
	assert_memory_equal(id.data, desc, 20);
	for (len = 0; len < b.len; len++) /* cut at every byte */
		assert_int_equal(parse(&b, len, &id), -ENOENT);
	buf__free(&b);
}

static void test_short_id(void **state)
{
	struct build_id id;
	struct buf b = { 0 };

	memset(&id, 0xee, sizeof(id));
	add_note(&b, "GNU", 4, NT_GNU_BUILD_ID, "12345", 5);
	assert_int_equal(parse(&b, b.len - 3, &id),
			 0); /* padding at the very end is optional */
	assert_int_equal(id.size, 5);
	assert_memory_equal(id.data, "12345\0\0\0", 8);
	buf__free(&b);
}

static void test_bad_ids(void **state)
{
	static const uint8_t desc[21];
	struct build_id id = { .size = 9 };
	struct buf b = { 0 };

	add_note(&b, "GNU", 4, NT_GNU_BUILD_ID, desc, 21);
	add_note(&b, "GNU", 4, NT_GNU_BUILD_ID, desc, 0);
	add_note(&b, "GNX", 4, NT_GNU_BUILD_ID, desc, 20);
	add_note(&b, "GN", 3, NT_GNU_BUILD_ID, desc, 20);
	assert_int_equal(parse(&b, b.len, &id), -ENOENT);
	assert_int_equal(id.size, 9); /* untouched */
	buf__free(&b);
}

static void test_huge_sizes(void **state)
{
	static const uint32_t sizes[] = { 0x7fffffff, 0xfffffffc, 0xfffffffd, 0xffffffff };
	struct build_id id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		const uint32_t names[] = { sizes[i], 4, 3, 0x554e47, 1 };
		const uint32_t descs[] = { 4, sizes[i], 3, 0x554e47, 1 };

		assert_int_equal(build_id__from_notes(names, sizeof(names), &id), -ENOENT);
		assert_int_equal(build_id__from_notes(descs, sizeof(descs), &id), -ENOENT);
	}
}

static void test_kernel(void **state)
{
	struct build_id id;

	if (access("/sys/kernel/notes", R_OK))
		skip();
	assert_int_equal(build_id__read_kernel(&id), 0);
	assert_in_range(id.size, 8, 20);
}

/* Compare with `readelf -n` on the same file. */
static void test_elf_file(void **state)
{
	char want[128] = "", got[2 * BUILD_ID_MAX + 1] = "";
	struct build_id id;
	FILE *f;
	int i;

	f = popen("readelf -n /bin/sh 2>/dev/null | sed -n 's/.*Build ID: //p'", "r");
	assert_non_null(f);
	if (!fgets(want, sizeof(want), f))
		want[0] = '\0';
	pclose(f);
	want[strcspn(want, "\n")] = '\0';
	if (!want[0])
		skip(); /* no readelf, or a shell without build id */
	assert_int_equal(read_path("/bin/sh", &id), 0);
	for (i = 0; i < id.size; i++)
		snprintf(got + 2 * i, 3, "%02x", id.data[i]);
	assert_string_equal(got, want);
}

static void test_not_elf(void **state)
{
	char path[] = "/tmp/frbpf-test-XXXXXX";
	struct build_id id;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(build_id__read_fd(fd, &id), -ENOENT); /* empty */
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	assert_int_equal(read_path(path, &id), -ENOENT);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, ELFMAG "\2\1\1", 7, 0), 7); /* a truncated header */
	assert_int_equal(read_path(path, &id), -ENOENT);
	close(fd);
	unlink(path);
	assert_int_equal(read_path("/dev/null", &id), -ENOENT);
	assert_int_equal(read_path("/tmp", &id), -ENOENT);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(read_path(path, &id), -ENOENT); /* opening it must not block */
	unlink(path);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notes),	cmocka_unit_test(test_short_id),
		cmocka_unit_test(test_bad_ids), cmocka_unit_test(test_huge_sizes),
		cmocka_unit_test(test_kernel),	cmocka_unit_test(test_elf_file),
		cmocka_unit_test(test_not_elf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
