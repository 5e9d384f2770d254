// SPDX-License-Identifier: GPL-2.0-only
/*
 * A separate process reads files for probes. It may die, take too long or lie: each gives one clear
 * error.
 * with: others
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "examine/keeper.h"
#include "probe_reader_fixture.h"

static pid_t pids[KEEPER_PROCESSES_MAX];
static size_t n_pids;
static bool doomed; /* every parser is killed as soon as it has started */

static void note_pids(const pid_t *v, size_t n, void *arg)
{
	memcpy(pids, v, n * sizeof(*v));
	n_pids = n;
	if (doomed && n > 1 && v[1] > 0)
		kill(v[1], SIGKILL);
}

static int setup(void **state)
{
	int err = start_reader(state);

	if (!err)
		examiner__follow(examiner, note_pids, NULL);
	return err;
}

__attribute__((noinline, noclone, used)) int reader_function(int x);
__attribute__((noinline, noclone, used)) int reader_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

static const struct examine_probe question = {
	.what = EXAMINE_FUNCTION,
	.latency = 1,
	.symbol = "reader_function",
};

static int ask_as(int fd, const char *name, unsigned int seconds, struct err *err)
{
	struct probe_found found = { 0 };
	int r = probe_reader__ask(fd, name, &question, seconds, &found, err);

	if (!r)
		assert_string_equal(found.funcs[0].name, "reader_function");
	probe_found__free(&found);
	return r;
}

static int ask_self(const char *name, unsigned int seconds, struct err *err)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return ask_as(fd, name, seconds, err);
}

/* A killed parser is replaced, and the caller notices nothing. */
static void test_killed(void **state)
{
	struct err err = { "" };

	assert_int_equal(ask_self("self", 60, &err), 0);
	assert_int_equal(n_pids, 2);
	kill(pids[1], SIGKILL);
	assert_int_equal(ask_self("self", 60, &err), 0);
}

/* Every parser dies as soon as it has started. */
static void test_dies(void **state)
{
	struct err err = { "" };

	assert_int_equal(ask_self("self", 60, &err), 0);
	examiner__rest(examiner, EXAMINER_PROBES);
	doomed = true;
	assert_int_equal(ask_self("the file", 60, &err), -EIO);
	assert_string_equal(err.msg, "the file: the process that read it has died: the file is "
				     "damaged or malicious");
	doomed = false;
	stop_reader(state);
	assert_int_equal(setup(state), 0);
	assert_int_equal(ask_self("self", 60, &err), 0);
}

static void test_takes_too_long(void **state)
{
	struct err err = { "" };

	assert_int_equal(ask_self("self", 60, &err), 0);
	kill(pids[1], SIGSTOP); /* after a hang of 2 s the file is not read again for 30 s */
	assert_int_equal(ask_self("the file", 3, &err), -ETIMEDOUT);
	assert_string_equal(err.msg, "the file: reading it takes longer than 3 s");
	assert_int_equal(ask_self("the file", 60, &err), -EBUSY);
	assert_non_null(
		strstr(err.msg, "the file: not read, because files took too long recently"));
	assert_int_equal(ask_self("another file", 60, &err), 0);
}

/* A parser that has read a stranger's file reads no other file. */
static void test_strangers_file(void **state)
{
	int fd = memfd_create("stranger", MFD_CLOEXEC);
	struct err err = { "" };

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0700), 0);
	assert_int_equal(ask_as(fd, "ours", 60, &err), -ENOEXEC);
	assert_string_equal(err.msg, "ours is not an ELF file");
	assert_int_equal(n_pids, 2);
	assert_int_equal(fchmod(fd, 0722), 0);
	assert_int_equal(ask_as(fd, "a stranger's\nfile", 60, &err), -ENOEXEC);
	assert_string_equal(err.msg, "a stranger's?file is not an ELF file");
	assert_int_equal(n_pids, 0);
	close(fd);
}

/* ---- malformed answers ---- */

static struct probe_usdt place = {
	.offset = 16,
	.args = { .arg = { { .kind = FRBPF_SDT_MEM, .reg = 8, .value = -8, .cut = 32 } },
		  .n_args = 1 },
};

static int decode(const struct probe_found *f, const struct examine_probe *q)
{
	struct probe_found ret = { 0 };
	struct buf b = { 0 };
	int err;

	assert_int_equal(probe_found__encode(f, &b), 0);
	err = probe_found__decode(b.data, b.len, q, 4096, &ret);
	probe_found__free(&ret);
	for (size_t len = 0; len < b.len && !err; len++)
		assert_int_equal(probe_found__decode(b.data, len, q, 4096, &ret), -EBADMSG);
	buf__free(&b);
	return err;
}

static void test_lies_about_functions(void **state)
{
	struct probe_func func = {
		.name = (char *)"f", .offset = 16, .n_exits = 2, .exits = { 20, 4095 }
	};
	const struct probe_found found = { .funcs = &func, .n_funcs = 1 };
	struct examine_probe q = question;

	assert_int_equal(decode(&found, &q), 0);
	func.exits[1] = 4096; /* after the end of the file */
	assert_int_equal(decode(&found, &q), -EBADMSG);
	func.n_exits = 1;
	func.offset = UINT64_MAX;
	assert_int_equal(decode(&found, &q), -EBADMSG);
	func.offset = 0;
	assert_int_equal(decode(&found, &q), 0);
	q.latency = 0; /* exits were not asked for */
	assert_int_equal(decode(&found, &q), -EBADMSG);
	q.what = EXAMINE_USDT;
	assert_int_equal(decode(&found, &q), -EBADMSG);
	q.what = EXAMINE_LIST_FUNCTIONS;
	assert_int_equal(decode(&found, &q), -EBADMSG);
}

static void test_lies_about_probes(void **state)
{
	const struct probe_found found = { .probes = &place, .n_probes = 1, .n_args = 1 };
	const struct examine_probe q = { .what = EXAMINE_USDT };
	const struct probe_usdt good = place;

	assert_int_equal(decode(&found, &q), 0);
	place.semaphore = 1 << 20;
	assert_int_equal(decode(&found, &q), -EBADMSG);
	place = good;
	place.args.arg[0].reg = 4096; /* an address of kernel memory */
	assert_int_equal(decode(&found, &q), -EBADMSG);
	place = good;
	place.args.arg[0].cut = 63;
	assert_int_equal(decode(&found, &q), -EBADMSG);
	place = good;
	place.args.n_args = FRBPF_MAX_ARGS + 1;
	assert_int_equal(decode(&found, &q), -EBADMSG);
	place = good;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_dies),
		cmocka_unit_test(test_takes_too_long),
		cmocka_unit_test(test_strangers_file),
		cmocka_unit_test(test_lies_about_functions),
		cmocka_unit_test(test_lies_about_probes),
	};

	return cmocka_run_group_tests(tests, setup, stop_reader);
}
