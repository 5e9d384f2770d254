// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process that reads recordings can only read. If it dies or lies, there is an error.
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
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/call_filter.h"
#include "common/limit.h"
#include "common/opening.h"
#include "confine/reading.h"
#include "symbols/file_search.h"

#define SECONDS 60

/* A name that does not exist */
static char path[] = "/tmp/frbpf-reading.XXXXXX";

static bool has_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct v[2];

	return syscall(SYS_capget, &head, v) || v[0].permitted || v[1].permitted || v[0].effective;
}

/* Does the opener open it? */
static bool may_have(uint32_t kind, const char *name)
{
	struct opening_request r = { .kind = kind, .candidate = FILE_SEARCH_AS_NAMED };
	int fd;

	snprintf(r.path, sizeof(r.path), "%s", name);
	fd = opening__ask(&r);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Returns bits for what is possible and should not be, or the reverse. */
static json_t *try_everything(void *arg)
{
	char *argv[] = { NULL };
	int bad = 0;

	bad |= (open(path, O_WRONLY | O_CREAT, 0600) >= 0) << 0;
	bad |= (open("/dev/null", O_RDONLY) >= 0) << 1;
	bad |= (mkdir(path, 0700) == 0) << 2;
	bad |= (socket(AF_UNIX, SOCK_STREAM, 0) >= 0) << 3;
	bad |= (execve("/bin/true", argv, argv) == 0) << 4;
	bad |= (kill(getppid(), 0) == 0) << 5;
	bad |= (fork() >= 0) << 6;
	bad |= (rename("/proc/self/exe", path) == 0) << 7;
	bad |= (fcntl(*(const int *)arg, F_GETFD) >= 0) << 8;
	bad |= has_capabilities() << 9;
	/* files that the opener opens or refuses, whoever asks */
	bad |= !may_have(OPENING_KERNEL, "/sys/kernel/notes") << 10;
	bad |= may_have(OPENING_KERNEL, "/etc/passwd") << 11;
	bad |= may_have(OPENING_KERNEL, "/sys/module/../../etc/passwd/notes/.note.gnu.build-id")
	       << 12;
	bad |= may_have(OPENING_RECORDING, "/etc/passwd") << 13;
	bad |= may_have(OPENING_MAPPED, "/etc/passwd") << 14;
	bad |= !may_have(OPENING_MAPPED, "/proc/self/exe") << 15;
	bad |= may_have(OPENING_KINDS, "/proc/self/exe") << 16; /* this request ends the opener */
	bad |= may_have(OPENING_KERNEL, "/sys/kernel/notes") << 17;
	return json_pack("[i]", bad);
}

static void it_can_only_read(void **state)
{
	int ours = open("/dev/null", O_RDWR); /* is not inherited */
	struct err err = { 0 };
	json_t *j;

	if (IS_SANITIZED) /* the filter lets sanitizers write */
		skip();
	assert_int_equal(reading__run(try_everything, &ours, SECONDS, -1, &err, &j), 0);
	assert_int_equal(json_integer_value(json_array_get(j, 0)), 0);
	json_decref(j);
	close(ours);
}

static json_t *give_back(void *arg)
{
	return json_incref(arg);
}

static json_t *give_nothing(void *arg)
{
	return NULL;
}

static void its_result_arrives_or_not(void **state)
{
	json_t *list = json_array(), *j;
	struct err err = { 0 };

	for (int i = 0; i < 100000; i++) /* more than a pipe holds */
		json_array_append_new(list, json_integer(i));
	assert_int_equal(reading__run(give_back, list, SECONDS, -1, &err, &j), 0);
	assert_true(json_equal(list, j));
	json_decref(j);
	json_decref(list);
	assert_int_equal(reading__run(give_nothing, NULL, SECONDS, -1, &err, &j), -ENODATA);
	assert_string_equal(err.msg, "");
}

_Noreturn static json_t *die(void *arg)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}

/* Ends at 1 s of CPU time, long before the caller's limit, even on a busy machine. */
_Noreturn static json_t *loop(void *arg)
{
	limit__set(RLIMIT_CPU, 1);
	for (volatile int i = 0;; i++)
		;
}

static json_t *take_memory(void *arg)
{
	for (int i = 0; i < 64; i++) {
		char *p = malloc(64 << 20);

		if (!p)
			return json_array();
		memset(p, 1, 4096);
	}
	return NULL;
}

static void it_may_die(void **state)
{
	struct err err = { 0 };
	json_t *j;

	assert_int_equal(reading__run(die, NULL, SECONDS, -1, &err, &j), -EIO);
	assert_non_null(strstr(err.msg, "the process that read the recording died"));
	assert_int_equal(reading__run(loop, NULL, SECONDS, -1, &err, &j), -EIO);
	assert_string_equal(err.msg, "reading the recording took more than 60 s of CPU time");
	if (IS_SANITIZED)
		return;
	assert_int_equal(reading__run(take_memory, NULL, SECONDS, -1, &err, &j), 0);
	json_decref(j);
}

/* Waits without using CPU time, so it hangs. */
_Noreturn static json_t *hang(void *arg)
{
	for (;;)
		pause();
}

static void it_may_hang(void **state)
{
	struct err err = { 0 };
	json_t *j;

	assert_int_equal(reading__run(hang, NULL, 0, -1, &err, &j), -ETIMEDOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_can_only_read),
		cmocka_unit_test(its_result_arrives_or_not),
		cmocka_unit_test(it_may_die),
		cmocka_unit_test(it_may_hang),
	};

	if (close(mkstemp(path)) || unlink(path))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
