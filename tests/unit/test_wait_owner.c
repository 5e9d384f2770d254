// SPDX-License-Identifier: GPL-2.0-only
/* The owners of locks that a thread waits for: locks of this process, and file locks. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/proc_file.h"
#include "dump/state/wait_owner.h"

static struct examiner *examiner;

static void nap(void)
{
	const struct timespec ts = { .tv_nsec = 1000000 };

	nanosleep(&ts, NULL);
}

/* Wait until task @tid is in system call @number, in which it will block. */
static int open_in_call(pid_t tid, long number)
{
	int dir = proc_file__open_task(tid);
	char text[128];

	assert_true(dir >= 0);
	for (;;) {
		assert_true(proc_file__read(dir, "syscall", text, sizeof(text)) > 0);
		if (strcmp(text, "running\n") && atol(text) == number)
			return dir;
		nap();
	}
}

struct waiter {
	pthread_mutex_t lock;
	_Atomic pid_t tid;
};

static void *wait_for_lock(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	pthread_mutex_lock(&w->lock);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void check_mutex(int protocol, const char *what)
{
	struct waiter w = { .tid = 0 };
	pthread_mutexattr_t attr;
	pthread_t thread;
	json_t *o = NULL;
	int dir;

	pthread_mutexattr_init(&attr);
	assert_int_equal(pthread_mutexattr_setprotocol(&attr, protocol), 0);
	pthread_mutex_init(&w.lock, &attr);
	pthread_mutex_lock(&w.lock);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_lock, &w), 0);
	while (!w.tid)
		nap();
	dir = open_in_call(w.tid, SYS_futex);
	assert_int_equal(wait_owner__read(examiner, w.tid, dir, &o), 0);
	assert_string_equal(json_string_value(json_object_get(o, "what")), what);
	assert_int_equal(json_integer_value(json_object_get(o, "tid")), gettid());
	assert_int_equal(json_integer_value(json_object_get(o, "pid")), getpid());
	assert_true(json_string_length(json_object_get(o, "comm")) > 0);
	json_decref(o);
	pthread_mutex_unlock(&w.lock);
	pthread_join(thread, NULL);
	close(dir);
}

static void owner_of_a_mutex(void **state)
{
	check_mutex(PTHREAD_PRIO_NONE, "mutex");
	check_mutex(PTHREAD_PRIO_INHERIT, "pi-futex");
}

static void *wait_for_word(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	while (*(_Atomic uint32_t *)&w->lock)
		syscall(SYS_futex, &w->lock, 0, *(uint32_t *)&w->lock, NULL, NULL, 0);
	return NULL;
}

/* A futex word with another meaning, followed by the number of a task of another process. */
static void no_owner_is_guessed(void **state)
{
	struct waiter w = { .tid = 0 };
	uint32_t *words = (uint32_t *)&w.lock;
	pthread_t thread;
	json_t *o = NULL;
	int dir;

	words[0] = 2;
	words[2] = getppid();
	assert_int_equal(pthread_create(&thread, NULL, wait_for_word, &w), 0);
	while (!w.tid)
		nap();
	dir = open_in_call(w.tid, SYS_futex);
	assert_int_equal(wait_owner__read(examiner, w.tid, dir, &o), -ENODATA);
	__atomic_store_n(&words[0], 0, __ATOMIC_SEQ_CST);
	while (syscall(SYS_futex, words, 1, 1, NULL, NULL, 0) < 0)
		nap();
	pthread_join(thread, NULL);
	close(dir);
	/* nothing is known of a running task */
	dir = proc_file__open_task(getpid());
	assert_int_equal(wait_owner__read(examiner, getpid(), dir, &o), -ENODATA);
	assert_null(o);
	close(dir);
}

static void owner_of_a_file_lock(void **state)
{
	char path[] = "/tmp/frbpf-test-XXXXXX";
	int fd = mkstemp(path), dir;
	json_t *o = NULL;
	pid_t child;

	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	child = fork();
	if (!child) {
		int own = open(path, O_RDWR);

		_exit(flock(own, LOCK_EX) != 0);
	}
	dir = open_in_call(child, SYS_flock);
	assert_int_equal(wait_owner__read(examiner, child, dir, &o), 0);
	assert_string_equal(json_string_value(json_object_get(o, "what")), "file-lock");
	assert_int_equal(json_integer_value(json_object_get(o, "pid")), getpid());
	assert_null(json_object_get(o, "tid"));
	json_decref(o);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(dir);
	unlink(path);
	close(fd);
}

static void locks_as_the_kernel_prints_them(void **state)
{
	static const char locks[] = "1: POSIX  ADVISORY  WRITE 10 08:01:42 0 EOF\n"
				    "1: -> POSIX  ADVISORY  WRITE 11 08:01:42 0 EOF\n"
				    "1:  -> POSIX  ADVISORY  WRITE 12 08:01:42 0 EOF\n"
				    "2: OFDLCK ADVISORY  READ  -1 08:01:43 0 EOF\n"
				    "2: -> FLOCK  ADVISORY  WRITE 13 08:01:43 0 EOF\n"
				    "3: FLOCK  ADVISORY  WRITE 14 08:01:44 0 EOF";

	assert_int_equal(wait_owner__of_locks(locks, 11), 10);
	assert_int_equal(wait_owner__of_locks(locks, 12), 10);
	assert_int_equal(wait_owner__of_locks(locks, 13), 0);
	assert_int_equal(wait_owner__of_locks(locks, 14), 0);
	assert_int_equal(wait_owner__of_locks(locks, 10), 0);
	assert_int_equal(wait_owner__of_locks("", 1), 0);
	assert_int_equal(wait_owner__of_locks("x\n1:\n2: ->\n3: -> a b c\n", 1), 0);
}

static int setup(void **state)
{
	return examiner__new(&examiner);
}

static int teardown(void **state)
{
	examiner__free(examiner);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_of_a_mutex),
		cmocka_unit_test(no_owner_is_guessed),
		cmocka_unit_test(owner_of_a_file_lock),
		cmocka_unit_test(locks_as_the_kernel_prints_them),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
