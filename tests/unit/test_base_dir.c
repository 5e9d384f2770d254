// SPDX-License-Identifier: GPL-2.0-only
/*
 * The base directory: made, locked, scanned and given away.
 * with: others
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "dump/base/base_dir.h"
#include "rules/units.h"
#include "temp_tree.h"

#define NOON (1704196800ULL * NSEC_PER_SEC) /* 2024-01-02 12:00:00 UTC */

/* Each test has a directory, and the path of a base in it. */
struct place {
	char dir[64], base[128];
	struct base_dir b;
	struct err err;
};

static int set_up_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	strcpy(p->dir, "/tmp/frbpf-base-XXXXXX");
	if (!mkdtemp(p->dir))
		return -1;
	snprintf(p->base, sizeof(p->base), "%s/base", p->dir);
	*state = p;
	return 0;
}

static int tear_down_place(void **state)
{
	struct place *p = *state;

	remove_temp_tree(p->dir);
	free(p);
	return 0;
}

static const char *path_below(const struct place *p, const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", p->base, name);
	return path;
}

static bool exists(const struct place *p, const char *name)
{
	struct stat st;

	return lstat(path_below(p, name), &st) == 0;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void make_file(const struct place *p, const char *name)
{
	int fd = open(path_below(p, name), O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "old", 3), 3);
	close(fd);
}

static void make_dir(const struct place *p, const char *name)
{
	assert_int_equal(mkdir(path_below(p, name), 0700), 0);
}

static void check_content(const struct place *p, const char *name, const char *want)
{
	struct buf b = { 0 };

	assert_int_equal(buf__read_file(&b, path_below(p, name), 65536), 0);
	assert_string_equal(b.data, want);
	buf__free(&b);
}

static void open_place(struct place *p)
{
	if (base_dir__open(&p->b, p->base, &p->err))
		fail_msg("%s", p->err.msg);
}

/* ---- opening ---- */

static void test_created(void **state)
{
	struct place *p = *state;
	mode_t mask = umask(0);
	char pid[32];

	open_place(p);
	umask(mask);
	assert_string_equal(p->b.path, p->base);
	assert_true(p->b.created);
	assert_int_equal(mode_of(p->base), 0700);
	assert_int_equal(mode_of(path_below(p, "incidents")), 0700);
	assert_int_equal(mode_of(path_below(p, "lock")), 0600);
	snprintf(pid, sizeof(pid), "%d\n", getpid());
	check_content(p, "lock", pid);
	base_dir__close(&p->b, false);
	assert_true(exists(p, "incidents"));
	open_place(p); /* again: now it exists */
	assert_false(p->b.created);
	base_dir__close(&p->b, false);
}

static void test_must_be_new(void **state)
{
	struct place *p = *state;

	assert_int_equal(base_dir__create(&p->b, p->base, &p->err), 0);
	base_dir__close(&p->b, true);
	assert_int_equal(mkdir(p->base, 0700), 0);
	/* its owner has not locked it yet, and must be able to */
	assert_int_equal(base_dir__create(&p->b, p->base, &p->err), -EEXIST);
	assert_non_null(strstr(p->err.msg, p->base));
	assert_false(exists(p, "lock"));
	base_dir__close(&p->b, true);
	assert_int_equal(mode_of(p->base), 0700);
	open_place(p);
	base_dir__close(&p->b, false);
}

static void test_parents(void **state)
{
	struct place *p = *state;
	char top[160], mid[200];

	snprintf(top, sizeof(top), "%s/a", p->dir);
	snprintf(mid, sizeof(mid), "%s/b", top);
	snprintf(p->base, sizeof(p->base), "%s/a/b//c", p->dir);
	open_place(p);
	assert_int_equal(mode_of(p->base), 0700);
	assert_int_equal(mode_of(mid) & 0022, 0);
	base_dir__close(&p->b, false);
}

static void test_slash_at_the_end(void **state)
{
	struct place *p = *state;
	mode_t mask = umask(0022);

	strcat(p->base, "//");
	open_place(p);
	umask(mask);
	assert_int_equal(mode_of(p->base), 0700);
	assert_true(p->b.created);
	base_dir__close(&p->b, true);
	assert_int_equal(access(p->base, F_OK), -1);
}

/* Run in a child that does not inherit the lock. 0: the message has the owner's pid. */
static int open_second_base(const struct place *p, pid_t owner)
{
	struct base_dir b;
	struct err err = { 0 };
	char pid[32];

	snprintf(pid, sizeof(pid), "(pid %d)", owner);
	if (base_dir__open(&b, p->base, &err) != -EBUSY)
		return 1;
	if (!strstr(err.msg, pid) || !strstr(err.msg, p->base))
		return 2;
	base_dir__close(&b, true);
	return 0;
}

static void check_owned(const struct place *p)
{
	pid_t owner = getpid(), child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(open_second_base(p, owner));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_owned_by_another(void **state)
{
	struct place *p = *state;

	open_place(p);
	check_owned(p);
	check_owned(p); /* the end of the first has changed nothing */
	assert_true(exists(p, "incidents"));
	assert_true(exists(p, "lock"));
	base_dir__close(&p->b, false);
	open_place(p);
	base_dir__close(&p->b, false);
}

static void check_refused(struct place *p, const char *words)
{
	struct base_dir *b = &p->b;

	assert_true(base_dir__open(b, p->base, &p->err) < 0);
	if (!strstr(p->err.msg, words) || !strstr(p->err.msg, p->base))
		fail_msg("'%s' does not say '%s'", p->err.msg, words);
	base_dir__close(b, true);
	assert_false(exists(p, "lock"));
}

static void test_writable_by_others(void **state)
{
	static const mode_t modes[] = { 0770, 0720, 0702, 0777, 01777 };
	struct place *p = *state;

	make_dir(p, "");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		assert_int_equal(chmod(p->base, modes[i]), 0);
		check_refused(p, "can be written by others");
	}
	assert_int_equal(chmod(p->base, 0755), 0);
	open_place(p);
	base_dir__close(&p->b, false);
	assert_int_equal(chmod(path_below(p, "incidents"), 0770), 0);
	assert_int_equal(base_dir__open(&p->b, p->base, &p->err), -EPERM);
	base_dir__close(&p->b, true);
}

static void test_symlink(void **state)
{
	struct place *p = *state;
	char real[128];

	snprintf(real, sizeof(real), "%s/real", p->dir);
	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink(real, p->base), 0);
	check_refused(p, "it is a symbolic link");
	assert_int_equal(rmdir(real), 0); /* no file was made there */
}

/* Others must not be able to replace the base: the directories above it are checked, too. */
static void test_directories_above_must_be_safe(void **state)
{
	struct place *p = *state;
	char link[128];

	assert_int_equal(chmod(p->dir, 0777), 0);
	check_refused(p, "above it, can be written by others (mode 0777)");
	assert_int_equal(chmod(p->dir, 01777), 0); /* as /tmp */
	assert_int_equal(base_dir__open(&p->b, p->base, &p->err), 0);
	base_dir__close(&p->b, true);
	assert_int_equal(chmod(p->dir, 0700), 0);
	snprintf(link, sizeof(link), "%s/link", p->dir);
	assert_int_equal(symlink(".", link), 0);
	snprintf(p->base, sizeof(p->base), "%s/link/./base", p->dir);
	assert_int_equal(base_dir__open(&p->b, p->base, &p->err), 0);
	base_dir__close(&p->b, true);
	if (geteuid() != 0)
		return; /* only root can change owners */
	assert_int_equal(lchown(link, 12345, -1), 0);
	check_refused(p, "link, above it, belongs to uid 12345");
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("link2", link), 0); /* to a link of another user */
	snprintf(link, sizeof(link), "%s/link2", p->dir);
	assert_int_equal(symlink(p->dir, link), 0);
	assert_int_equal(lchown(link, 12345, -1), 0);
	check_refused(p, "link2, above it, belongs to uid 12345");
	snprintf(p->base, sizeof(p->base), "%s/base", p->dir);
	assert_int_equal(chown(p->dir, 12345, -1), 0);
	check_refused(p, "above it, belongs to uid 12345");
}

/* The lock holds for the directory, whatever happens to the lock file. */
static void test_lock_removed(void **state)
{
	struct place *p = *state;
	struct base_dir second;

	assert_int_equal(base_dir__open(&p->b, p->base, &p->err), 0);
	assert_int_equal(unlink(path_below(p, "lock")), 0);
	assert_int_equal(base_dir__open(&second, p->base, &p->err), -EBUSY);
	assert_non_null(strstr(p->err.msg, "whose lock was removed"));
	base_dir__close(&second, true);
	assert_true(exists(p, "incidents"));
	base_dir__close(&p->b, false);
}

static void test_directories_removed(void **state)
{
	struct place *p = *state;
	int fd;

	assert_int_equal(base_dir__open(&p->b, p->base, &p->err), 0);
	fd = base_dir__open_session(&p->b, "a", &p->err);
	assert_true(fd >= 0);
	assert_int_equal(base_dir__renew(&p->b, "session-a", fd, &p->err), 0);
	assert_int_equal(rmdir(path_below(p, "session-a")), 0);
	assert_int_equal(base_dir__renew(&p->b, "session-a", fd, &p->err), 1);
	assert_true(exists(p, "session-a"));
	assert_int_equal(base_dir__renew(&p->b, "session-a", fd, &p->err), 0);
	close(fd);
	assert_int_equal(rmdir(path_below(p, "incidents")), 0);
	assert_int_equal(base_dir__write_manifest(&p->b, "2024010212000000", "{}", 2, &p->err), 0);
	assert_true(exists(p, "incidents/2024010212000000.json"));
	assert_int_equal(unlink(path_below(p, "incidents/2024010212000000.json")), 0);
	assert_int_equal(rmdir(path_below(p, "incidents")), 0);
	assert_int_equal(base_dir__write_draft(&p->b, "2024010212000000", "{}", 2, &p->err), 0);
	assert_int_equal(base_dir__write_manifest(&p->b, "2024010212000000", "{}", 2, &p->err), 0);
	assert_true(exists(p, "incidents/2024010212000000.json"));
	base_dir__close(&p->b, false);
}

static void test_not_a_directory(void **state)
{
	struct place *p = *state;

	assert_int_equal(close(open(p->base, O_WRONLY | O_CREAT, 0600)), 0);
	check_refused(p, "cannot open");
}

static void test_of_another_user(void **state)
{
	struct place *p = *state;

	if (geteuid() != 0)
		skip(); /* only root can change the owner of a directory */
	make_dir(p, "");
	assert_int_equal(chown(p->base, 12345, -1), 0);
	check_refused(p, "belongs to uid 12345");
}

static void test_lock_is_a_symlink(void **state)
{
	struct place *p = *state;

	make_dir(p, "");
	assert_int_equal(symlink("/dev/null", path_below(p, "lock")), 0);
	assert_int_equal(base_dir__open(&p->b, p->base, &p->err), -ELOOP);
	base_dir__close(&p->b, true);
}

/* ---- what a killed daemon left ---- */

static void test_temporary_files(void **state)
{
	struct place *p = *state;

	make_dir(p, "");
	make_dir(p, "incidents");
	make_dir(p, "session-a");
	make_dir(p, "other");
	make_file(p, "incidents/.tmp-2024.json");
	make_file(p, "incidents/2024.json");
	make_file(p, "session-a/.tmp-perf.data.2024");
	make_file(p, "session-a/perf.data.2024");
	make_file(p, "session-a/.tmp"); /* not our prefix */
	make_file(p, "other/.tmp-x");
	open_place(p);
	assert_false(exists(p, "incidents/.tmp-2024.json"));
	assert_false(exists(p, "session-a/.tmp-perf.data.2024"));
	assert_true(exists(p, "incidents/2024.json"));
	assert_true(exists(p, "session-a/perf.data.2024"));
	assert_true(exists(p, "session-a/.tmp"));
	assert_true(exists(p, "other/.tmp-x"));
	base_dir__close(&p->b, false);
}

/* The files of a running daemon, and of a directory elsewhere, stay. */
static void test_temporary_files_of_others(void **state)
{
	struct place *p = *state;

	make_dir(p, "");
	make_dir(p, "elsewhere");
	make_file(p, "elsewhere/.tmp-x");
	assert_int_equal(symlink("elsewhere", path_below(p, "session-link")), 0);
	open_place(p);
	assert_true(exists(p, "elsewhere/.tmp-x"));
	make_file(p, "incidents/.tmp-now.json");
	check_owned(p);
	assert_true(exists(p, "incidents/.tmp-now.json"));
	base_dir__close(&p->b, false);
}

/* ---- sessions ---- */

static void test_sessions(void **state)
{
	struct place *p = *state;
	int fd;

	open_place(p);
	fd = base_dir__open_session(&p->b, "cycles", &p->err);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mode_of(path_below(p, "session-cycles")), 0700);
	fd = base_dir__open_session(&p->b, "cycles", &p->err);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(chmod(path_below(p, "session-cycles"), 0777), 0);
	assert_int_equal(base_dir__open_session(&p->b, "cycles", &p->err), -EPERM);
	assert_non_null(strstr(p->err.msg, path_below(p, "session-cycles")));
	make_file(p, "session-file");
	assert_int_equal(base_dir__open_session(&p->b, "file", &p->err), -ENOTDIR);
	base_dir__close(&p->b, false);
}

/* ---- names ---- */

static void check_name(struct place *p, uint64_t realtime_ns, const char *want)
{
	char name[INCIDENT_NAME_SIZE];

	base_dir__reserve_name(&p->b, realtime_ns, name);
	assert_string_equal(name, want);
}

static void test_names_in_a_row(void **state)
{
	struct place *p = *state;
	char want[32];

	open_place(p);
	for (int i = 0; i < 10; i++) { /* all at the same time */
		snprintf(want, sizeof(want), "20240102120000%02d", i);
		check_name(p, NOON, want);
	}
	check_name(p, NOON + 990000000, "2024010212000099");
	check_name(p, NOON + 995000000, "2024010212000100");
	base_dir__close(&p->b, false);
}

static void test_names_that_exist(void **state)
{
	struct place *p = *state;

	open_place(p);
	make_dir(p, "session-a");
	make_dir(p, "session-b");
	make_dir(p, "other");
	make_file(p, "incidents/2024010212000000.json");
	make_file(p, "session-b/perf.data.2024010212000001");
	assert_int_equal(symlink("gone", path_below(p, "session-a/perf.data.2024010212000002")), 0);
	make_file(p, "other/perf.data.2024010212000003");
	check_name(p, NOON, "2024010212000003");
	check_name(p, NOON, "2024010212000004");
	base_dir__close(&p->b, false);
}

/* ---- undo ---- */

/* The base's parent was moved. The base that its name now leads to must stay. */
static void test_undo_keeps_a_base_of_others(void **state)
{
	struct place *p = *state;
	char parent[512], away[512], other[512], theirs[600];

	snprintf(parent, sizeof(parent), "%s/parent", p->dir);
	snprintf(away, sizeof(away), "%s/away", p->dir);
	snprintf(other, sizeof(other), "%s/other", p->dir);
	snprintf(theirs, sizeof(theirs), "%s/base", other);
	snprintf(p->base, sizeof(p->base), "%s/parent/base", p->dir);
	assert_int_equal(mkdir(parent, 0700) | mkdir(other, 0700) | mkdir(theirs, 0700), 0);
	assert_int_equal(base_dir__create(&p->b, p->base, &p->err), 0);
	assert_int_equal(rename(parent, away) | symlink(other, parent), 0);
	base_dir__close(&p->b, true);
	assert_int_equal(access(theirs, F_OK), 0);
}

static void test_undo_of_a_new_base(void **state)
{
	struct place *p = *state;
	int fd;

	open_place(p);
	fd = base_dir__open_session(&p->b, "a", &p->err);
	close(fd);
	base_dir__close(&p->b, true);
	assert_int_equal(access(p->base, F_OK), -1);
	base_dir__close(&p->b, true); /* already closed: nothing happens */
}

static void test_undo_keeps_what_was_there(void **state)
{
	struct place *p = *state;
	int fd;

	make_dir(p, "");
	make_dir(p, "session-old");
	make_dir(p, "incidents");
	make_file(p, "session-old/perf.data.1");
	make_file(p, "incidents/1.json");
	open_place(p);
	fd = base_dir__open_session(&p->b, "new", &p->err);
	close(fd);
	fd = base_dir__open_session(&p->b, "old", &p->err);
	close(fd);
	base_dir__close(&p->b, true);
	assert_false(exists(p, "session-new"));
	check_content(p, "session-old/perf.data.1", "old");
	check_content(p, "incidents/1.json", "old");
}

static void test_undo_of_a_new_base_in_use(void **state)
{
	struct place *p = *state;

	open_place(p);
	make_file(p, "output");
	base_dir__close(&p->b, true);
	check_content(p, "output", "old");
	assert_false(exists(p, "incidents"));
}

static void test_no_undo(void **state)
{
	struct place *p = *state;
	int fd;

	open_place(p);
	fd = base_dir__open_session(&p->b, "a", &p->err);
	close(fd);
	base_dir__close(&p->b, false);
	assert_true(exists(p, "incidents") && exists(p, "session-a") && exists(p, "lock"));
}

/* ---- manifests ---- */

static void write_manifest(struct place *p, const char *text)
{
	if (base_dir__write_manifest(&p->b, "1", text, strlen(text), &p->err))
		fail_msg("%s", p->err.msg);
}

static void test_manifest(void **state)
{
	struct place *p = *state;
	int fd;

	open_place(p);
	write_manifest(p, "first, and longer\n");
	check_content(p, "incidents/1.json", "first, and longer\n");
	assert_int_equal(mode_of(path_below(p, "incidents/1.json")), 0600);
	fd = open(path_below(p, "incidents/1.json"), O_RDONLY);
	write_manifest(p, "second\n");
	check_content(p, "incidents/1.json", "second\n");
	assert_int_equal(lseek(fd, 0, SEEK_END), 18); /* an open descriptor still reads the first
						       * text */
	close(fd);
	assert_false(exists(p, "incidents/.tmp-1.json"));
	base_dir__close(&p->b, false);
}

static void test_manifest_cannot_be_written(void **state)
{
	struct place *p = *state;

	open_place(p);
	make_dir(p, "incidents/1.json"); /* no rename can replace it */
	assert_int_equal(base_dir__write_manifest(&p->b, "1", "x", 1, &p->err), -EISDIR);
	assert_non_null(strstr(p->err.msg, "incidents/1.json"));
	assert_false(exists(p, "incidents/.tmp-1.json"));
	assert_int_equal(symlink("/dev/null", path_below(p, "incidents/.tmp-2.json")), 0);
	assert_int_equal(base_dir__write_manifest(&p->b, "2", "x", 1, &p->err), -ELOOP);
	assert_false(exists(p, "incidents/2.json"));
	base_dir__close(&p->b, false);
}

#define base_test(f) cmocka_unit_test_setup_teardown(f, set_up_place, tear_down_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		base_test(test_created),
		base_test(test_must_be_new),
		base_test(test_parents),
		base_test(test_slash_at_the_end),
		base_test(test_owned_by_another),
		base_test(test_writable_by_others),
		base_test(test_symlink),
		base_test(test_lock_removed),
		base_test(test_directories_removed),
		base_test(test_directories_above_must_be_safe),
		base_test(test_not_a_directory),
		base_test(test_of_another_user),
		base_test(test_lock_is_a_symlink),
		base_test(test_temporary_files),
		base_test(test_temporary_files_of_others),
		base_test(test_sessions),
		base_test(test_names_in_a_row),
		base_test(test_names_that_exist),
		base_test(test_undo_keeps_a_base_of_others),
		base_test(test_undo_of_a_new_base),
		base_test(test_undo_keeps_what_was_there),
		base_test(test_undo_of_a_new_base_in_use),
		base_test(test_no_undo),
		base_test(test_manifest),
		base_test(test_manifest_cannot_be_written),
	};

	setenv("TZ", "UTC0", 1);
	tzset();
	return cmocka_run_group_tests_name("base_dir", tests, NULL, NULL);
}
