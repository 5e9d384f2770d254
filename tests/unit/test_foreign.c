// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening files of other users: links, and where they lead.
 * with: others
 */
#include <errno.h>
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
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/foreign.h"
#include "temp_tree.h"

static char dir[] = "/tmp/frbpf-foreign.XXXXXX";

static const char *path_at(const char *name)
{
	static char paths[4][PATH_MAX];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", dir, name);
	return path;
}

static void make_file(const char *name, mode_t mode)
{
	int fd = open(path_at(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, name, strlen(name)), strlen(name));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int setup(void **state)
{
	if (!mkdtemp(dir) || mkdir(path_at("sub"), 0755) || mkfifo(path_at("fifo"), 0600) ||
	    symlink("public", path_at("to-public")) || symlink("private", path_at("to-private")) ||
	    symlink(path_at("to-private"), path_at("to-to-private")) ||
	    symlink("loop", path_at("loop")) || symlink("fifo", path_at("to-fifo")) ||
	    symlink(".", path_at("here")) || symlink("/proc/self/status", path_at("to-proc")) ||
	    symlink("/dev/null", path_at("to-device")))
		return -1;
	make_file("public", 0644);
	make_file("private", 0600);
	return 0;
}

static int teardown(void **state)
{
	remove_temp_tree(dir);
	return 0;
}

static int find_foreign(const char *path, unsigned int flags)
{
	struct stat st;
	int fd = foreign__find(path, flags, &st);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void check_content(int fd, const char *wanted)
{
	char text[64] = "";

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, wanted);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void test_files(void **state)
{
	check_content(foreign__open_path(path_at("public"), 0, NULL), "public");
	check_content(foreign__open_path(path_at("private"), 0, NULL), "private");
	assert_int_equal(find_foreign(path_at("none"), 0), -ENOENT);
}

/* Another user's link may only lead to a file that everybody may read. */
static void test_links(void **state)
{
	check_content(foreign__open_path(path_at("to-public"), 0, NULL), "public");
	assert_int_equal(find_foreign(path_at("to-private"), 0), -EACCES);
	assert_int_equal(find_foreign(path_at("here/private"), 0), -EACCES);
	check_content(foreign__open_path(path_at("to-private"), FOREIGN_TRUSTED, NULL), "private");
}

/* The same for a path from a rule. But a user's link may lead to that user's own files. */
static void test_paths_of_rules(void **state)
{
	if (geteuid())
		skip();
	assert_int_equal(lchown(path_at("to-private"), 65534, 65534), 0);
	assert_int_equal(find_foreign(path_at("to-private"), FOREIGN_TRUSTED), -EACCES);
	assert_int_equal(find_foreign(path_at("to-to-private"), FOREIGN_TRUSTED), -EACCES);
	assert_int_equal(chown(path_at("private"), 65534, 65534), 0);
	check_content(foreign__open_path(path_at("to-to-private"), FOREIGN_TRUSTED, NULL),
		      "private");
	assert_int_equal(lchown(path_at("to-to-private"), 65533, 65534), 0);
	assert_int_equal(find_foreign(path_at("to-to-private"), FOREIGN_TRUSTED), -EACCES);
	assert_int_equal(chown(path_at("private"), 0, 0), 0);
	assert_int_equal(lchown(path_at("to-private"), 0, 0), 0);

	assert_int_equal(lchown(path_at("to-public"), 65534, 65534), 0);
	check_content(foreign__open_path(path_at("to-public"), FOREIGN_TRUSTED, NULL), "public");
	assert_int_equal(find_foreign("/proc/self/root/proc/self/status", FOREIGN_TRUSTED), -ENXIO);
	assert_int_equal(find_foreign("", FOREIGN_TRUSTED), -ENOENT);
	/* a closed directory hides its files, whatever their modes */
	make_file("sub/public", 0644);
	assert_int_equal(symlink("sub/public", path_at("to-sub")), 0);
	check_content(foreign__open_path(path_at("to-sub"), 0, NULL), "sub/public");
	assert_int_equal(chmod(path_at("sub"), 0700), 0);
	assert_int_equal(find_foreign(path_at("to-sub"), 0), -EACCES);
	check_content(foreign__open_path(path_at("to-sub"), FOREIGN_TRUSTED, NULL), "sub/public");
	assert_int_equal(lchown(path_at("to-sub"), 65534, 65534), 0);
	assert_int_equal(find_foreign(path_at("to-sub"), FOREIGN_TRUSTED), -EACCES);
	assert_int_equal(find_foreign(path_at("loop"), FOREIGN_TRUSTED), -ELOOP);
}

static void test_no_files(void **state)
{
	static const char *const names[] = { "fifo", "to-fifo", "sub", "to-proc", "to-device" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_not_equal(find_foreign(path_at(names[i]), 0), 0);
		assert_int_equal(find_foreign(path_at(names[i]), FOREIGN_TRUSTED), -ENXIO);
	}
	assert_int_equal(find_foreign("/proc/self/status", 0), -ENXIO);
	assert_int_equal(find_foreign("/sys/kernel/notes", 0), -ENXIO);
	assert_int_equal(find_foreign("/dev/null", 0), -ENXIO);
}

static int n_opened(int watch)
{
	char events[4096];
	ssize_t n = read(watch, events, sizeof(events));

	return n < 0 ? 0 : n / (ssize_t)sizeof(struct inotify_event);
}

/* Only regular files are opened: opening another file can do harm. */
static void test_not_opened(void **state)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), fd;

	assert_true(inotify_add_watch(watch, path_at("fifo"), IN_OPEN) >= 0);
	assert_int_equal(foreign__open_path(path_at("fifo"), 0, NULL), -ENXIO);
	assert_int_equal(foreign__open_path(path_at("to-fifo"), FOREIGN_TRUSTED, NULL), -ENXIO);
	assert_int_not_equal(foreign__open_of(getpid(), path_at("fifo"), NULL), 0);
	assert_int_equal(n_opened(watch), 0);
	fd = open(path_at("fifo"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_not_equal(n_opened(watch), 0);
	close(fd);
	close(watch);
}

static void test_expected(void **state)
{
	struct stat st;

	assert_int_equal(stat(path_at("private"), &st), 0);
	check_content(foreign__open_path(path_at("private"), 0, &st), "private");
	assert_int_equal(foreign__open_path(path_at("public"), 0, &st), -ESTALE);
	check_content(foreign__open_of(getpid(), path_at("private"), &st), "private");
	assert_int_equal(foreign__open_of(getpid(), path_at("public"), &st), -ESTALE);
}

/* Below the root of a process no link is followed. */
static void test_of_process(void **state)
{
	assert_int_equal(foreign__open_of(getpid(), path_at("to-public"), NULL), -ELOOP);
	assert_int_equal(foreign__open_of(getpid(), path_at("here/public"), NULL), -ELOOP);
	assert_int_equal(foreign__open_of(getpid(), "public", NULL), -EINVAL);
	assert_int_equal(foreign__open_of(INT32_MAX, path_at("public"), NULL), -ENOENT);
}

/* The file that was found is opened, even if its name now leads to another file. */
static void test_name_is_taken(void **state)
{
	struct stat st;
	int found;

	make_file("first", 0644);
	found = foreign__find(path_at("first"), 0, &st);
	assert_true(found >= 0);
	assert_int_equal(unlink(path_at("first")), 0);
	assert_int_equal(symlink("fifo", path_at("first")), 0);
	check_content(foreign__open(found), "first");
	close(found);
}

static void test_magic(void **state)
{
	struct stat st, own;
	int found = foreign__find("/proc/self/exe", FOREIGN_MAGIC, &st);

	assert_true(found >= 0);
	close(found);
	assert_int_equal(stat("/proc/self/exe", &own), 0);
	assert_int_equal(st.st_ino, own.st_ino);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),	       cmocka_unit_test(test_links),
		cmocka_unit_test(test_paths_of_rules), cmocka_unit_test(test_no_files),
		cmocka_unit_test(test_not_opened),     cmocka_unit_test(test_expected),
		cmocka_unit_test(test_of_process),     cmocka_unit_test(test_name_is_taken),
		cmocka_unit_test(test_magic),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
