// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that read files of other users may hang or die. Their caller must do neither.
 * with: others
 */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "examine/examiner.h"
#include "examine/hung.h"
#include "examine/keeper.h"
#include "fuse_fixture.h"

#define LONG  (60 * 1000000000ULL) /* ns: longer than any test */
#define SHORT (200 * 1000000ULL)

static struct examiner *examiner;
static struct examine_answer answer;
static pid_t pids[KEEPER_PROCESSES_MAX];
static size_t n_pids;

static void note_pids(const pid_t *v, size_t n, void *arg)
{
	memcpy(pids, v, n * sizeof(*v));
	n_pids = n;
}

static int setup(void **state)
{
	int err = examiner__new(&examiner);

	if (!err)
		examiner__follow(examiner, note_pids, NULL);
	return err;
}

static int teardown(void **state)
{
	examiner__free(examiner);
	return 0;
}

static struct examine_request of_path(uint32_t kind, const char *path)
{
	struct examine_request r = { .kind = kind };
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	r.maj = major(st.st_dev);
	r.min = minor(st.st_dev);
	r.ino = st.st_ino;
	r.pid = INT32_MAX; /* a process that has ended */
	snprintf(r.path, sizeof(r.path), "%s", path);
	return r;
}

static void own_path(char path[static PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	assert_true(n > 0);
	path[n] = '\0';
}

static int ask(struct examine_request *r, uint64_t wait)
{
	return examiner__ask(examiner, EXAMINER_NAMES, r, now_ns() + wait, &answer);
}

static void test_build_id(void **state)
{
	char path[PATH_MAX];
	struct examine_request r;
	struct build_id own;

	own_path(path);
	r = of_path(EXAMINE_BUILD_ID, path);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(build_id__read_fd(fd, &own), 0);
	assert_int_equal(ask(&r, LONG), 0);
	assert_int_equal(answer.head.error, 0);
	assert_int_equal(answer.head.id.size, own.size);
	assert_memory_equal(answer.head.id.data, own.data, own.size);
	r.ino++; /* another file has the name now */
	assert_int_equal(ask(&r, LONG), 0);
	assert_int_equal(answer.head.error, -ENOENT);
}

/* The file offset of a function of this program: it is mapped without relocation of its text. */
static uint64_t offset_of(const void *function, uint64_t *ret_start, uint64_t *ret_end)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, pgoff, at = (unsigned long)function;
	char line[PATH_MAX + 128];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &pgoff) == 3 && at >= start &&
		    at < end) {
			*ret_start = start;
			*ret_end = end;
			return at - start + pgoff;
		}
	fail_msg("in no map");
	return 0;
}

static void test_names(void **state)
{
	struct examine_request r;
	struct examine_named named;
	char path[PATH_MAX];
	size_t at = 0;

	own_path(path);
	r = of_path(EXAMINE_SYMBOLS, path);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(build_id__read_fd(fd, &r.id), 0);
	r.pid = getpid();
	r.places[0] = offset_of(test_names, &r.start, &r.end) + 3;
	r.places[1] = 1ULL << 60; /* in no function */
	r.n_places = 2;
	assert_int_equal(ask(&r, LONG), 0);
	assert_int_equal(answer.head.n_names, 1);
	assert_true(examine_answer__next(answer.msg, answer.len, &at, &named));
	assert_int_equal(named.place, 0);
	assert_int_equal(named.offset, 3);
	assert_int_equal(named.len, strlen("test_names"));
	assert_memory_equal(named.name, "test_names", named.len);
	r.id.data[0] ^= 1; /* the build id of another build */
	assert_int_equal(ask(&r, LONG), 0);
	assert_int_equal(answer.head.error, -ENOENT);
}

/* A number in /proc/PID/status, in base @base. */
static unsigned long long status_of(pid_t pid, const char *field, int base)
{
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)))
			return strtoull(line + strlen(field), NULL, base);
	fail_msg("%d has no %s", pid, field);
	return 0;
}

static void assert_rights(pid_t pid, unsigned long long may, unsigned long long may_gain)
{
	assert_int_equal(status_of(pid, "CapPrm:\t", 16) & ~may, 0);
	assert_int_equal(status_of(pid, "CapEff:\t", 16) & ~may, 0);
	assert_int_equal(status_of(pid, "CapInh:\t", 16), 0);
	assert_int_equal(status_of(pid, "CapAmb:\t", 16), 0);
	if (!geteuid())
		assert_int_equal(status_of(pid, "CapBnd:\t", 16) & ~may_gain, 0);
	assert_int_equal(status_of(pid, "NoNewPrivs:\t", 10), 1);
}

/* The rights of the three processes: the opener, the parser, and the keeper that starts them. */
static void test_rights(void **state)
{
	const unsigned long long opener = 1ULL << 2 | 1ULL << 19 | 1ULL << 40;
	struct examine_request r;
	char path[PATH_MAX];

	own_path(path);
	r = of_path(EXAMINE_BUILD_ID, path);
	assert_int_equal(ask(&r, LONG), 0);
	assert_int_equal(n_pids, 2);
	for (size_t i = 0; i < n_pids; i++)
		assert_rights(pids[i], i ? 0 : opener, opener);
	assert_rights(status_of(pids[0], "PPid:\t", 10), opener, opener);
	for (size_t i = 0; i < n_pids; i++)
		assert_int_equal(status_of(pids[i], "Seccomp:\t", 10), 2);
	examiner__rest(examiner, EXAMINER_NAMES);
	assert_int_equal(n_pids, 0);
}

/* A parser dies: its request fails, and the next one is answered. */
static void test_death(void **state)
{
	struct examine_request r;
	char path[PATH_MAX];

	own_path(path);
	r = of_path(EXAMINE_BUILD_ID, path);
	assert_int_equal(ask(&r, LONG), 0);
	assert_int_equal(n_pids, 2);
	kill(pids[1], SIGKILL);
	assert_int_equal(ask(&r, LONG), -EIO);
	assert_int_equal(ask(&r, LONG), 0);
	examiner__rest(examiner, EXAMINER_NAMES);
}

/*
 * A file system that hangs blocks only the process that opens the file. A second request for it
 * fails at once; others are answered.
 */
static void test_hung_file_system(void **state)
{
	struct fuse_fixture fuse;
	struct examine_request hung, other;
	char path[PATH_MAX];

	own_path(path);
	other = of_path(EXAMINE_BUILD_ID, path);
	if (!fuse_fixture__mount(&fuse, path)) {
		print_message("no FUSE here\n");
		skip();
	}
	hung = of_path(EXAMINE_BUILD_ID, fuse.path);
	assert_int_equal(ask(&hung, LONG), 0);
	assert_int_equal(answer.head.error, 0);
	assert_int_equal(answer.head.id.size, 20);
	examiner__rest(examiner, EXAMINER_NAMES); /* its process closes the file while it can */
	fuse_fixture__hang(&fuse);
	assert_int_equal(ask(&hung, SHORT), -ETIMEDOUT);
	assert_int_equal(examiner__n_stuck(examiner), 1); /* in state D: not even SIGKILL ends it */
	assert_int_equal(ask(&hung, LONG), -EBUSY);
	assert_int_equal(ask(&other, LONG), 0);
	/* this must not wait for the stuck process either: otherwise teardown() hangs */
	examiner__free(examiner);
	assert_int_equal(examiner__new(&examiner), 0);
	examiner__follow(examiner, note_pids, NULL);
	fuse_fixture__unmount(&fuse);
}

/* A stopped process of the user @uid. */
static pid_t start_nobody(uid_t uid)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

static void end_nobody(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Users who cooperate cannot block reads of root's files, whatever they let hang. */
static void test_many_users_hang(void **state)
{
	enum { USERS = HUNG_OF_USERS_MAX + 1, GONE = USERS, ROOT }; /* the last user is refused */
	struct fuse_fixture fuse[ROOT + 1];
	struct examine_request r, other;
	pid_t pid[USERS];
	char path[PATH_MAX];

	if (geteuid())
		skip();
	own_path(path);
	other = of_path(EXAMINE_BUILD_ID, path);
	other.pid = getpid(); /* root's */
	/* a new examiner does not remember earlier file systems with the same device numbers */
	examiner__free(examiner);
	assert_int_equal(setup(NULL), 0);
	for (size_t i = 0; i <= ROOT; i++) {
		if (!fuse_fixture__mount(&fuse[i], path)) {
			print_message("no FUSE here\n");
			skip();
		}
		r = of_path(EXAMINE_BUILD_ID, fuse[i].path);
		r.pid = i < USERS ? pid[i] = start_nobody(20000 + i) : i == GONE ? pid[0] : 0;
		if (i == GONE)
			end_nobody(pid[0]);
		fuse_fixture__hang(&fuse[i]);
		assert_int_equal(ask(&r, SHORT),
				 i < HUNG_OF_USERS_MAX || i == ROOT ? -ETIMEDOUT : -EBUSY);
	}
	assert_int_equal(examiner__n_stuck(examiner), HUNG_OF_USERS_MAX + 1);
	assert_int_equal(ask(&other, LONG), 0);
	for (size_t i = 0; i <= ROOT; i++)
		fuse_fixture__unmount(&fuse[i]);
	for (size_t i = 1; i < USERS; i++)
		end_nobody(pid[i]);
}

/*
 * The hung file systems of one user block nobody else. When one of them answers again, or is gone,
 * the next is tried.
 */
static void test_many_hung_file_systems(void **state)
{
	struct fuse_fixture fuse[5];
	struct examine_request hung[5], other;
	char path[PATH_MAX];
	pid_t nobody;

	if (geteuid())
		skip();
	own_path(path);
	other = of_path(EXAMINE_BUILD_ID, path);
	nobody = start_nobody(65534);
	for (size_t i = 0; i < 5; i++) {
		if (!fuse_fixture__mount(&fuse[i], path)) {
			print_message("no FUSE here\n");
			skip();
		}
		hung[i] = of_path(EXAMINE_BUILD_ID, fuse[i].path);
		hung[i].pid = nobody;
		fuse_fixture__hang(&fuse[i]);
	}
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(ask(&hung[i], SHORT), i < 1 ? -ETIMEDOUT : -EBUSY);
	assert_int_equal(examiner__n_stuck(examiner), 1);
	assert_int_equal(ask(&other, LONG), 0);
	hung[2].pid = getpid(); /* root's process, which may have mapped the file */
	assert_int_equal(ask(&hung[2], SHORT), -ETIMEDOUT);
	assert_int_equal(ask(&other, LONG), 0);
	fuse_fixture__unmount(&fuse[0]);
	while (examiner__n_stuck(examiner) > 1)
		usleep(10000);
	assert_int_equal(ask(&hung[3], SHORT), -ETIMEDOUT);
	assert_int_equal(ask(&hung[4], SHORT), -EBUSY);
	for (size_t i = 1; i < 5; i++)
		fuse_fixture__unmount(&fuse[i]);
	end_nobody(nobody);
}

/* Start a process that maps one page of @path, not read yet, and waits. */
static pid_t start_mapper(const char *path, const void **ret_page)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	pid_t pid;

	assert_true(fd >= 0);
	*ret_page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(*ret_page, MAP_FAILED);
	close(fd);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	munmap((void *)*ret_page, 4096);
	assert_true(pid > 0);
	return pid;
}

/* Reading memory of a task hangs: the request times out, and other tasks are read. */
static void test_memory_that_hangs(void **state)
{
	static const uint32_t word = 0x12345678;
	struct fuse_fixture fuse;
	char path[PATH_MAX], text[64];
	const void *page;
	uint32_t got = 0;
	pid_t pid;

	own_path(path);
	if (!fuse_fixture__mount(&fuse, path)) {
		print_message("no FUSE here\n");
		skip();
	}
	pid = start_mapper(fuse.path, &page);
	assert_int_equal(
		examiner__read_task(examiner, pid, EXAMINE_TASK_MEMORY, (uintptr_t)&word, &got, 4),
		4);
	assert_int_equal(got, word);
	assert_true(examiner__read_task(examiner, pid, EXAMINE_TASK_COMMAND, 0, text,
					sizeof(text)) > 0);
	assert_int_equal(examiner__read_task(examiner, pid, EXAMINE_TASK_MEMORY, 8, text, 8), -EIO);
	assert_int_equal(examiner__read_task(examiner, INT32_MAX, EXAMINE_TASK_COMMAND, 0, text, 8),
			 -ESRCH);
	fuse_fixture__hang(&fuse);
	assert_int_equal(
		examiner__read_task(examiner, pid, EXAMINE_TASK_MEMORY, (uintptr_t)page, text, 8),
		-ETIMEDOUT);
	assert_int_equal(examiner__n_stuck(examiner), 1); /* the reader is in state D */
	assert_int_equal(examiner__read_task(examiner, pid, EXAMINE_TASK_COMMAND, 0, text, 8),
			 -EBUSY);
	assert_true(examiner__read_task(examiner, getpid(), EXAMINE_TASK_COMMAND, 0, text, 8) > 0);
	kill(pid, SIGKILL);
	examiner__free(examiner);
	assert_int_equal(examiner__new(&examiner), 0);
	examiner__follow(examiner, note_pids, NULL);
	fuse_fixture__unmount(&fuse);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* After a cancel no request waits. */
static void test_cancel(void **state)
{
	struct examine_request r;
	char path[PATH_MAX];

	own_path(path);
	r = of_path(EXAMINE_BUILD_ID, path);
	examiner__cancel(examiner);
	assert_int_equal(ask(&r, LONG), -ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_death),
		cmocka_unit_test(test_hung_file_system),
		cmocka_unit_test(test_many_hung_file_systems),
		cmocka_unit_test(test_many_users_hang),
		cmocka_unit_test(test_memory_that_hangs),
		cmocka_unit_test(test_cancel),
	};

	fuse_fixture__confine();
	return cmocka_run_group_tests(tests, setup, teardown);
}
