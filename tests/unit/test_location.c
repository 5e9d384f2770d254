// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the base, in a mount namespace with empty /run and /etc, so that nothing of this machine is
 * read or changed.
 * with: others
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "daemon/location.h"
#include "dump/base/base_dir.h"
#include "temp_tree.h"

#define NOTE	 LOCATION_RUN_DIR "/base"
#define PERF_ETC "/etc/perfconfig"

static char dir[] = "/tmp/frbpf-location-XXXXXX";
static bool have_namespace;

/* Needs root. Otherwise the tests that use these files are skipped. */
static bool enter_namespace(void)
{
	return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", "/run", "tmpfs", 0, "mode=0755") == 0 &&
	       mount("none", "/etc", "tmpfs", 0, "mode=0755") == 0;
}

static const char *in_dir(const char *name)
{
	static char path[2][256];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static int set_up_home(void **state)
{
	unsetenv("FRBPF_BASE");
	setenv("HOME", dir, 1);
	unlink(in_dir(".perfconfig"));
	if (have_namespace) {
		unlink(NOTE);
		unlink(NOTE ".lock");
		rmdir(LOCATION_RUN_DIR);
		unlink(LOCATION_RULES);
		unlink(PERF_ETC);
		mkdir("/etc/frbpf", 0755);
	}
	return 0;
}

static void need_namespace(void)
{
	if (!have_namespace)
		skip();
}

static void check(const char *base, const char *config, const char *want)
{
	struct location_hint hint = { base, config };
	char got[PATH_MAX] = "untouched";
	struct err err = { 0 };

	if (location__find(&hint, got, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(got, want);
}

/* ---- options of the user ---- */

static void test_base(void **state)
{
	char link[256];

	setenv("FRBPF_BASE", "/from/env", 1);
	check("/no/such/base", NULL, "/no/such/base");
	check(dir, NULL, dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(symlink(dir, link), 0);
	check(link, NULL, link); /* the daemon will refuse a link */
	unlink(link);
	check("/no/such/base", "/no/such/config", "/no/such/base");
}

/* The daemon does not stay in the current directory, so the path is made absolute. */
static void test_relative_base(void **state)
{
	char before[PATH_MAX], want[256];

	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(dir), 0);
	check(".", NULL, dir);
	snprintf(want, sizeof(want), "%s/not/yet", dir);
	check("not/yet", NULL, want);
	assert_int_equal(chdir(before), 0);
}

static void test_config(void **state)
{
	const char *path = in_dir("conf");

	setenv("FRBPF_BASE", "/from/env", 1);
	write_text_file(path, "[daemon]\n\tbase = /from/config # why\n[session-a]\n\trun = -a\n");
	check(NULL, path, "/from/config");
	write_text_file(path,
			"[session-a]\nbase = /no\n[daemon]\nbase=\"/with blank\"\nbase=/second\n");
	check(NULL, path, "/with blank");
	unlink(path);
}

static void check_fails(const char *config, int code, const char *words)
{
	struct location_hint hint = { .config = config };
	struct err err = { 0 };
	char got[PATH_MAX];

	assert_int_equal(location__find(&hint, got, &err), code);
	if (!strstr(err.msg, config) || !strstr(err.msg, words))
		fail_msg("'%s' does not say '%s'", err.msg, words);
}

static void test_config_without_a_base(void **state)
{
	static const char *const texts[] = { "", "[daemon]\n", "[daemon]\nbase =\n",
					     "[daemon]\nbase = relative\n", "[x]\nbase = /y\n" };
	const char *path = in_dir("conf");

	setenv("FRBPF_BASE", "/from/env", 1);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		write_text_file(path, texts[i]);
		check_fails(path, -EINVAL, "base not defined");
	}
	unlink(path);
}

/* The base of another daemon is not used instead. */
static void test_config_that_cannot_be_read(void **state)
{
	const char *path = in_dir("conf");

	setenv("FRBPF_BASE", "/from/env", 1);
	check_fails("/no/such/config", -ENOENT, "No such file");
	write_text_file(path, "[daemon\nbase = /from/config\n");
	check_fails(path, -EINVAL, ":1:");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	check_fails(path, -EISDIR, "directory");
	rmdir(path);
}

static void test_environment(void **state)
{
	setenv("FRBPF_BASE", "/from/env", 1);
	check(NULL, NULL, "/from/env");
}

/* ---- files of the system ---- */

static void leave_note(const char *text)
{
	mkdir(LOCATION_RUN_DIR, 0755);
	assert_int_equal(chmod(LOCATION_RUN_DIR, 0755), 0);
	write_text_file(NOTE, text);
}

/* Each one takes precedence over the later ones. */
static void test_order(void **state)
{
	need_namespace();
	check(NULL, NULL, BASE_DIR_DEFAULT);
	write_text_file(in_dir(".perfconfig"), "[daemon]\nbase = /home/perf\n");
	check(NULL, NULL, "/home/perf");
	unsetenv("HOME");
	check(NULL, NULL, BASE_DIR_DEFAULT);
	setenv("HOME", dir, 1);
	write_text_file(PERF_ETC, "[daemon]\nbase = /etc/perf\n"); /* perf accepts no other */
	check(NULL, NULL, "/etc/perf");
	setenv("PERF_CONFIG_NOSYSTEM", "1", 1);
	check(NULL, NULL, "/home/perf");
	setenv("PERF_CONFIG_NOGLOBAL", "1", 1);
	check(NULL, NULL, BASE_DIR_DEFAULT);
	unsetenv("PERF_CONFIG_NOSYSTEM");
	unsetenv("PERF_CONFIG_NOGLOBAL");
	write_text_file(LOCATION_RULES, "[daemon]\nbase = /etc/rules\n");
	check(NULL, NULL, "/etc/rules");
	leave_note("/noted\n");
	check(NULL, NULL, "/noted");
	setenv("FRBPF_BASE", "", 1);
	check(NULL, NULL, "/noted");
	setenv("FRBPF_BASE", "/from/env", 1);
	check(NULL, NULL, "/from/env");
}

/* A file of another user is ignored: `start` would run the sessions in it. */
static void test_perfconfig_of_another_user(void **state)
{
	char path[PATH_MAX] = "none";

	need_namespace();
	write_text_file(in_dir(".perfconfig"), "[daemon]\nbase = /home/perf\n");
	assert_true(location__perf_config(false, path));
	assert_string_equal(path, in_dir(".perfconfig"));
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_false(location__perf_config(false, path));
	assert_false(location__perf_config(true, path));
	check(NULL, NULL, BASE_DIR_DEFAULT);
	write_text_file(PERF_ETC, "[session-a]\nrun = -a\n");
	assert_false(location__perf_config(false, path));
	assert_true(location__perf_config(true, path));
	assert_string_equal(path, PERF_ETC);
}

static void test_broken_files_are_passed_over(void **state)
{
	need_namespace();
	write_text_file(PERF_ETC, "[daemon]\nbase = /etc/perf\n");
	write_text_file(in_dir(".perfconfig"), "[daemon\n");
	write_text_file(LOCATION_RULES, "[daemon]\nbase = relative\n");
	leave_note("nonsense\n");
	check(NULL, NULL, "/etc/perf");
	unlink(PERF_ETC);
	check(NULL, NULL, BASE_DIR_DEFAULT);
	leave_note("");
	check(NULL, NULL, BASE_DIR_DEFAULT);
}

static void test_note_of_anybody(void **state)
{
	need_namespace();
	leave_note("/noted");
	check(NULL, NULL, "/noted");
	assert_int_equal(chmod(LOCATION_RUN_DIR, 0775), 0);
	check(NULL, NULL, BASE_DIR_DEFAULT);
	assert_int_equal(chmod(LOCATION_RUN_DIR, 0757), 0);
	check(NULL, NULL, BASE_DIR_DEFAULT);
	assert_int_equal(chmod(LOCATION_RUN_DIR, 0755), 0);
	assert_int_equal(chown(LOCATION_RUN_DIR, 12345, -1), 0);
	check(NULL, NULL, BASE_DIR_DEFAULT);
	assert_int_equal(chown(LOCATION_RUN_DIR, 0, -1), 0);
}

/* ---- the note ---- */

static void check_note(const char *want)
{
	struct buf b = { 0 };

	if (!want) {
		assert_int_equal(access(NOTE, F_OK), -1);
		return;
	}
	assert_int_equal(buf__read_file(&b, NOTE, PATH_MAX), 0);
	assert_string_equal(b.data, want);
	buf__free(&b);
}

static void test_announce(void **state)
{
	need_namespace();
	location__withdraw("/a"); /* nothing there */
	location__announce("/a");
	check_note("/a\n");
	check(NULL, NULL, "/a");
	location__withdraw("/b");
	check_note("/a\n");
	location__withdraw("/a");
	check_note(NULL);
}

static void test_announce_over_a_dead_one(void **state)
{
	need_namespace();
	leave_note("/somewhere/long/gone, and longer\n");
	location__announce("/a");
	check_note("/a\n");
	assert_int_equal(unlink(NOTE), 0);
	assert_int_equal(symlink(in_dir("target"), NOTE), 0);
	location__announce("/a");
	assert_int_equal(access(in_dir("target"), F_OK), -1);
}

/* A child that holds the lock of @base until the other end of @fds[1] is closed. */
static pid_t own_base(const char *base, int *ret_fd)
{
	int ready[2], end[2];
	struct base_dir b;
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	pid = fork();
	if (pid == 0) {
		close(end[1]);
		if (base_dir__open(&b, base, NULL) || write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(end[0], &c, 1) == 0 ? 0 : 1);
	}
	close(ready[1]);
	close(end[0]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	*ret_fd = end[1];
	return pid;
}

static void remove_base(const char *base)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/incidents", base);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/lock", base);
	unlink(path);
	assert_int_equal(rmdir(base), 0);
}

static void test_announce_beside_a_living_one(void **state)
{
	char base[256], note[300];
	int status, fd;
	pid_t pid;

	need_namespace();
	snprintf(base, sizeof(base), "%s/living", dir);
	snprintf(note, sizeof(note), "%s\n", base);
	pid = own_base(base, &fd);
	leave_note(note);
	location__announce("/a");
	check_note(note);
	location__withdraw("/a");
	check_note(note);
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	location__announce("/a");
	check_note("/a\n");
	remove_base(base);
}

static bool can_be_owned(const char *base)
{
	struct base_dir b;
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(base_dir__open(&b, base, NULL) == -EBUSY ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status != 0;
}

/*
 * A note has another path to our own base. The check for a live daemon must not release our lock.
 * Closing any descriptor of a locked file would do that.
 */
static void test_announce_keeps_our_lock(void **state)
{
	char base[256], note[300];
	struct err err = { 0 };
	struct base_dir b;

	need_namespace();
	snprintf(base, sizeof(base), "%s/ours", dir);
	snprintf(note, sizeof(note), "%s/../ours\n", base);
	assert_int_equal(base_dir__open(&b, base, &err), 0);
	leave_note(note);
	assert_false(can_be_owned(base));
	location__announce(base);
	assert_false(can_be_owned(base));
	snprintf(note, sizeof(note), "%s\n", base);
	check_note(note);
	base_dir__close(&b, true);
}

static void test_announce_without_root(void **state)
{
	need_namespace();
	assert_int_equal(seteuid(12345), 0);
	location__announce("/a");
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(access(LOCATION_RUN_DIR, F_OK), -1);
}

#define location_test(f) cmocka_unit_test_setup(f, set_up_home)

int main(void)
{
	const struct CMUnitTest tests[] = {
		location_test(test_base),
		location_test(test_relative_base),
		location_test(test_config),
		location_test(test_config_without_a_base),
		location_test(test_config_that_cannot_be_read),
		location_test(test_environment),
		location_test(test_order),
		location_test(test_perfconfig_of_another_user),
		location_test(test_broken_files_are_passed_over),
		location_test(test_note_of_anybody),
		location_test(test_announce),
		location_test(test_announce_over_a_dead_one),
		location_test(test_announce_beside_a_living_one),
		location_test(test_announce_keeps_our_lock),
		location_test(test_announce_without_root),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	have_namespace = enter_namespace();
	failed = cmocka_run_group_tests_name("location", tests, NULL, NULL);
	unlink(in_dir(".perfconfig"));
	return rmdir(dir) < 0 ? 1 : failed;
}
