// SPDX-License-Identifier: GPL-2.0-only
/*
 * The recorder's list of system calls: others fail and are logged, in every thread.
 * with: others
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/buf.h"
#include "common/call_filter.h"
#include "common/cleanup.h"
#include "common/foreign.h"
#include "common/landlock.h"
#include "common/limit.h"
#include "common/opening.h"
#include "daemon/confine.h"

/* An assertion for the confined process, where cmocka does not work. */
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			dprintf(STDERR_FILENO, "line %d: %s (%s)\n", __LINE__, #cond,              \
				strerror(errno));                                                  \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static int go[2];

static void check_refused(void)
{
	char *argv[] = { NULL };

	errno = 0;
	CHECK(execve("/bin/true", argv, argv) == -1 && errno == ENOSYS);
	CHECK(socket(AF_INET, SOCK_DGRAM, 0) == -1 && errno == ENOSYS);
	CHECK(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL) == -1 && errno == ENOSYS);
	CHECK(kill(-INT_MAX, SIGKILL) == -1 && errno == EPERM); /* by the filter: no such group */
	CHECK(kill(getpid(), 0) == -1 && errno == ENOSYS);
	CHECK(IS_SANITIZED || syscall(SYS_tgkill, getppid(), getppid(), 0) == -1);
	CHECK(prctl(PR_SET_DUMPABLE, 1) == (IS_SANITIZED ? 0 : -1));
	CHECK(IS_SANITIZED || (fork() == -1 && errno == ENOSYS));
	CHECK(IS_SANITIZED || (ptrace(PTRACE_TRACEME, 0, 0, 0) == -1 && errno == ENOSYS));
}

static void *checking_thread(void *arg)
{
	char c;

	if (arg) /* it began before the process was confined */
		CHECK(read(go[0], &c, 1) == 1);
	check_refused();
	return NULL;
}

static void check_allowed(void)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *f = fopen("/proc/self/status", "re");
	struct pollfd pfd = { .fd = go[0], .events = POLLIN };
	char line[256];

	CHECK(p != MAP_FAILED && !munmap(p, 4096));
	CHECK(f && fgets(line, sizeof(line), f) && !fclose(f));
	CHECK(poll(&pfd, 1, 0) == 0);
	CHECK(!prctl(PR_SET_NAME, "confined"));
	CHECK(!raise(SIGURG));
}

static void run_confined(int err)
{
	pthread_t before, after;

	dup2(err, STDERR_FILENO);
	CHECK(!pipe(go));
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!pthread_create(&before, NULL, checking_thread, go));
	CHECK(!confine__calls());
	check_allowed();
	check_refused();
	CHECK(!pthread_create(&after, NULL, checking_thread, NULL));
	CHECK(write(go[1], "", 1) == 1);
	CHECK(!pthread_join(before, NULL) && !pthread_join(after, NULL));
	_exit(0);
}

/* A thread that writes dumps: below the base everything is allowed, elsewhere only reading. */
static void *writing_thread(void *base)
{
	int dir = *(const int *)base, fd;
	char *argv[] = { NULL };

	confine__writer();
	fd = openat(dir, "dump.tmp", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1 && !close(fd));
	CHECK(!mkdirat(dir, "session", 0700));
	CHECK(!renameat(dir, "dump.tmp", dir, "session/dump"));
	CHECK(!unlinkat(dir, "session/dump", 0) && !unlinkat(dir, "session", AT_REMOVEDIR));
	CHECK(!close(open("/etc/passwd", O_RDONLY | O_CLOEXEC)));
	CHECK(open("/dev/null", O_WRONLY | O_CLOEXEC) == -1 && errno == EACCES);
	CHECK(openat(dir, "../written", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) == -1 &&
	      errno == EACCES);
	CHECK(unlinkat(dir, "../kept", 0) == -1 && errno == EACCES);
	CHECK(mkdirat(dir, "../made", 0700) == -1 && errno == EACCES);
	CHECK(execve("/bin/true", argv, argv) == -1 && errno == EACCES);
	return NULL;
}

static void run_writer(int err, int base)
{
	pthread_t writer;

	dup2(err, STDERR_FILENO);
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	confine__writer(); /* no base is set: nothing happens */
	CHECK(!confine__set_base(base));
	CHECK(!pthread_create(&writer, NULL, writing_thread, &base));
	CHECK(!pthread_join(writer, NULL));
	CHECK(!unlinkat(base, "../kept", 0)); /* this thread is not limited */
	_exit(0);
}

static void writers_write_in_the_base_alone(void **state)
{
	char dir[] = "/tmp/frbpf-test.XXXXXX";
	int top, base, status;
	pid_t pid;

	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 2)
		skip();
	assert_non_null(mkdtemp(dir));
	top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(top, "base", 0700), 0);
	base = openat(top, "base", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(openat(top, "kept", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		run_writer(STDERR_FILENO, base);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(unlinkat(top, "base", AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(dir), 0);
	close(base);
	close(top);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

static void what_is_not_listed_fails_and_is_logged_once(void **state)
{
	static const char *const names[] = { " execve:", " socket:", " mount:", " kill:" };
	struct buf said = { 0 };
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		run_confined(fds[1]);
	close(fds[1]);
	assert_int_equal(buf__read_fd(&said, fds[0], 1 << 16), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status)
		print_error("%s", said.data);
	assert_int_equal(status, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(count(said.data, names[i]), 1);
	assert_int_equal(count(said.data, "clone"), IS_SANITIZED ? 0 : 1); /* by fork() */
	close(fds[0]);
	buf__free(&said);
}

/* Open files can still be read. */
static void no_file_can_be_opened(void **state)
{
	int status, dir, held;
	char c;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		held = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		CHECK(held >= 0 && dir >= 0 && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
		CHECK(!landlock__no_files());
		CHECK(read(held, &c, 1) == 1);
		CHECK(open("/proc/self/exe", O_RDONLY | O_CLOEXEC) == -1 && errno == EACCES);
		CHECK(openat(dir, "etc/passwd", O_RDONLY | O_CLOEXEC) == -1 && errno == EACCES);
		CHECK(open("/proc/self/exe", O_PATH | O_CLOEXEC) >= 0);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
		skip();
	assert_int_equal(status, 0);
}

/* ---- openers ---- */

static void start_program(void)
{
	char *argv[] = { NULL };

	execve("/bin/true", argv, argv);
}

static void start_process(void)
{
	syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void open_socket(void)
{
	close(socket(AF_UNIX, SOCK_STREAM, 0));
}

static void remove_file(void)
{
	unlinkat(AT_FDCWD, "/nowhere/at/all", 0);
}

static void open_file_to_write(void)
{
	close(openat(AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC));
}

static void make_file(void)
{
	close(openat(AT_FDCWD, "/nowhere/at/all", O_RDONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void look_at_file(void)
{
	struct stat st;

	CHECK(foreign__find("/bin/true", FOREIGN_TRUSTED, &st) >= 0);
	CHECK(foreign__open_path("/proc/self/exe", FOREIGN_MAGIC, NULL) >= 0);
	CHECK(foreign__open_of(getpid(), "/etc/passwd", NULL) >= 0);
	CHECK(opening__temporary() >= 0);
}

/* How does a process end that does @act, with the system calls of an opener? */
static int end_of(void (*act)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !limit__set(RLIMIT_CORE, 0));
		signal(SIGSYS, SIG_DFL);
		CHECK(!opening_calls__limit());
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : status;
}

static void an_opener_opens_files_to_read_and_does_nothing_else(void **state)
{
	static void (*const refused[])(void) = {
		start_program, start_process,	   open_socket,
		remove_file,   open_file_to_write, make_file, /* sanitizers write reports */
	};

	assert_int_equal(end_of(look_at_file), 0);
	for (size_t i = 0; i < ARRAY_SIZE(refused) - (IS_SANITIZED ? 2 : 0); i++)
		assert_int_equal(end_of(refused[i]), SIGSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_listed_fails_and_is_logged_once),
		cmocka_unit_test(no_file_can_be_opened),
		cmocka_unit_test(an_opener_opens_files_to_read_and_does_nothing_else),
		cmocka_unit_test(writers_write_in_the_base_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
