// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls: durations, failures, invalid numbers, restarts.
 * with: others
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "syscall_fixture.h"

#define COMPAT_CALL SYS_sched_get_priority_max /* of the 32-bit table: writev */

/* In a thread, so that thread and process differ. */
static void *nap_thread(void *arg)
{
	const struct timespec ts = { .tv_nsec = 50 * MS };
	struct findings *f = arg;

	set_name("frbpf-thread");
	f->pid = getpid();
	f->tid = gettid();
	f->begin = now_ns();
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	f->end = now_ns();
	return NULL;
}

static void nap(struct findings *f, long arg)
{
	pthread_t t;

	set_name("frbpf-leader");
	if (pthread_create(&t, NULL, nap_thread, f) || pthread_join(t, NULL))
		_exit(1);
}

static void test_syscall(void **state)
{
	struct rule_conf r = syscall_rule(2, SYS_clock_nanosleep, 40 * MS);
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	struct sink s;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	add_name(&r, FRBPF_FIELD_PROCESS, FRBPF_OP_EQ, "frbpf-leader", FRBPF_NODE_END);
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(nap, f, 0)), 0);
	s = collect(d, 2000);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.last.source, FRBPF_SOURCE_SYSCALL);
	assert_int_equal(s.last.key, SYS_clock_nanosleep);
	assert_int_equal(s.last.ret, 0);
	assert_in_range(s.last.value, 50 * MS, f->end - f->begin);
	assert_in_range(s.last.time, f->begin + s.last.value, f->end);
	assert_int_equal(s.last.subject.pid, f->pid);
	assert_int_equal(s.last.subject.tid, f->tid);
	assert_int_not_equal(f->pid, f->tid);
	assert_string_equal(s.last.subject.comm, "frbpf-thread");
	assert_string_equal(s.last.subject.process, "frbpf-leader");
	assert_memory_equal(&s.last.subject, &s.last.current, sizeof(s.last.subject));
	/* where the task was: in the kernel, called from this program */
	assert_int_equal(s.n_stacks, 1);
	assert_int_equal(s.stacks.time, s.last.time);
	assert_int_equal(s.stacks.cpu, s.last.cpu);
	assert_true(s.stacks.n_kernel > 1);
	assert_true(s.stacks.n_user >= 1);
	for (uint32_t i = 0; i < s.stacks.n_kernel; i++)
		assert_true((int64_t)s.stacks.kernel[i] < 0);
	for (uint32_t i = 0; i < s.stacks.n_user; i++)
		assert_true((int64_t)s.stacks.user[i] > 0);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

#ifdef __x86_64__
/* Number COMPAT_CALL of the 32-bit table: writev, here with a bad descriptor. */
static void make_compat_calls(struct findings *f, long n)
{
	/*
	 * a kernel without them ends the child; cmocka's handler would go on testing in the child
	 */
	signal(SIGSEGV, SIG_DFL);
	for (long i = 0; i < n; i++) {
		long ret = COMPAT_CALL;

		__asm__ volatile("int $0x80" : "+a"(ret) : "b"(-1), "c"(0), "d"(0) : "memory");
		if (ret != -EBADF)
			_exit(1);
	}
}

static void test_compat_calls_are_ignored(void **state)
{
	struct rule_conf r = syscall_rule(6, COMPAT_CALL, 0);
	struct detectors *d;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	if (await(spawn(make_compat_calls, NULL, 1))) {
		print_message("skipped: this kernel takes no 32-bit system calls\n");
		skip();
	}
	d = open_detectors();
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(make_compat_calls, NULL, 5)), 0);
	assert_int_equal(state_of(d, slot).matched, 0);
	detectors__free(d);
}
#endif

static void make_odd_calls(struct findings *f, long arg)
{
	const long odd[] = {
		-1,	   FRBPF_KEY_MAX, FRBPF_KEY_MAX + RARE_CALL, 0x40000000 + RARE_CALL,
		INT32_MAX, INT32_MIN
	};

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		syscall(odd[i], 0);
}

static void test_odd_call_numbers(void **state)
{
	struct rule_conf r = syscall_rule(7, RARE_CALL, 0);
	struct detectors *d;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(make_odd_calls, NULL, 0)), 0);
	assert_int_equal(state_of(d, slot).matched, 0);
	detectors__free(d);
}

static void fail_to_open(struct findings *f, long arg)
{
	name_findings(f);
	open("/no/such/file", O_RDONLY);
	open("/proc/self/status/x", O_RDONLY); /* ENOTDIR */
	close(open("/proc/self/status", O_RDONLY));
	open("/no/such/file", O_RDONLY);
}

static void test_failing_calls(void **state)
{
	static const struct {
		const char *when;
		uint64_t matched;
	} cases[] = {
		{ "syscall:openat fails", 3 },
		{ "syscall:openat fails (ENOENT)", 2 },
		{ "syscall:openat fails (EMFILE, ENOTDIR)", 1 },
		{ "syscall:openat fails (EMFILE, EHWPOISON)", 0 },
		{ "syscall:* fails (ENOENT, ENOTDIR)", 3 },
		{ "syscall:close fails", 0 },
		{ "syscall:openat > 1ns", 4 },
		{ "syscall:openat > 1h", 0 },
	};
	enum { N = ARRAY_SIZE(cases) };
	struct findings *f = shared_memory(sizeof(*f));
	struct rule_conf rules[N];
	struct detectors *d;
	uint32_t slots[N];
	struct sink s;

	SKIP_UNLESS_POSSIBLE();
	for (int i = 0; i < N; i++)
		rules[i] = rule_when(620 + i, cases[i].when, NULL);
	d = open_detectors();
	update(d, rules, N, slots);
	assert_int_equal(await(spawn(fail_to_open, f, 0)), 0);
	for (int i = 0; i < N; i++) {
		if (state_of(d, slots[i]).matched != cases[i].matched)
			fail_msg("%s: %llu", cases[i].when, state_of(d, slots[i]).matched);
	}
	collect(d, 100);
	/* without other rules there is no threshold */
	update(d, rules, 1, slots);
	assert_int_equal(await(spawn(fail_to_open, f, 0)), 0);
	assert_int_equal(state_of(d, slots[0]).matched, 6);
	s = collect(d, 2000);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.last.ret, -ENOENT);
	assert_int_equal(s.last.key, SYS_openat);
	assert_int_equal(s.last.threshold, 0);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

/* Makes 3 calls that `syscall:*` must see, and others that it must not. */
static void call_all_kinds(struct findings *f, long arg)
{
	struct timespec ts = { .tv_nsec = MS };
	int file = open("/proc/self/status", O_RDONLY), p[2];
	struct pollfd nothing = { .fd = -1 };
	char c[2];

	if (pipe(p) || write(p[1], "x", 1) != 1)
		_exit(1);
	name_findings(f);
	if (read(p[0], c, 1) != 1)
		_exit(1);
	syscall(SYS_ppoll, &nothing, 1, &ts, NULL, 0);
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	if (read(file, c, 1) != 1 || write(p[1], "x", 1) != 1)
		_exit(1);
	syscall(RARE_CALL, SCHED_FIFO);
	set_name("frbpf-gone");
}

static void test_all_calls(void **state)
{
	struct rule_conf rules[] = {
		rule_when(640, "syscall:* > 1ns", NULL),
		rule_when(641, "syscall:* > 1ns", "syscall == read"),
		rule_when(642, "syscall:read > 1ns", NULL),
		rule_when(643, "syscall:ppoll > 1ns", NULL),
	};
	struct findings *f = shared_memory(sizeof(*f));
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(await(spawn(call_all_kinds, f, 0)), 0);
	/* and getpid() and prctl() after the rename */
	assert_in_range(state_of(d, slots[0]).matched, 3, 6);
	assert_int_equal(state_of(d, slots[1]).matched, 1);
	assert_int_equal(state_of(d, slots[2]).matched, 2);
	assert_int_equal(state_of(d, slots[3]).matched, 1);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

static int wake_pipe[2];

static void on_signal(int sig)
{
}

/*
 * Sleeps through signals that stop it, and reads through signals with handlers. Long calls are very
 * long, because a hypervisor may lengthen short ones.
 */
static void be_interrupted(struct findings *f, long arg)
{
	struct sigaction restart = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	const struct timespec ts = { .tv_sec = 1 };
	char c;

	sigaction(SIGUSR1, &restart, NULL);
	name_findings(f);
	f->ready = 1;
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	f->ready = 2;
	if (read(wake_pipe[0], &c, 1) != 1)
		_exit(1);
	restart.sa_flags = 0;
	sigaction(SIGUSR1, &restart, NULL);
	f->ready = 3;
	if (read(wake_pipe[0], &c, 1) != -1 || errno != EINTR)
		_exit(2);
	usleep(50000);
	if (write(wake_pipe[1], "x", 1) != 1 || read(wake_pipe[0], &c, 1) != 1)
		_exit(3);
	set_name("frbpf-gone");
}

static void test_restarted_calls(void **state)
{
	struct rule_conf rules[] = {
		rule_when(650, "syscall:clock_nanosleep > 700ms", NULL),
		rule_when(651, "syscall:read > 700ms", NULL),
		rule_when(652, "syscall:read,clock_nanosleep fails", NULL),
		rule_when(653, "syscall:read > 1ns", NULL),
	};
	struct findings *f = shared_memory(sizeof(*f));
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	pid_t child;

	SKIP_UNLESS_POSSIBLE();
	assert_int_equal(pipe(wake_pipe), 0);
	d = open_detectors();
	update(d, rules, ARRAY_SIZE(rules), slots);
	child = spawn(be_interrupted, f, 0);
	await_call(f, 1);
	kill(child, SIGSTOP);
	usleep(50000);
	kill(child, SIGCONT);
	await_call(f, 2);
	for (int i = 0; i < 2; i++) {
		usleep(500000);
		kill(child, SIGUSR1);
	}
	await_sleep(child);
	assert_int_equal(write(wake_pipe[1], "x", 1), 1);
	await_call(f, 3);
	kill(child, SIGUSR1);
	assert_int_equal(await(child), 0);
	/* it is one sleep, up to its real end */
	assert_int_equal(state_of(d, slots[0]).matched, 1);
	assert_true(state_of(d, slots[0]).max_value >= 999 * MS);
	/*
	 * one read took a second; the next one ended with EINTR, and the third does not begin with
	 * it
	 */
	assert_int_equal(state_of(d, slots[1]).matched, 1);
	assert_true(state_of(d, slots[1]).max_value >= 999 * MS);
	assert_int_equal(state_of(d, slots[3]).matched, 3);
	assert_int_equal(state_of(d, slots[2]).matched, 1);
	detectors__free(d);
	munmap(f, sizeof(*f));
	close(wake_pipe[0]);
	close(wake_pipe[1]);
}

enum { POLLS = 20 };

/* Polls from one place in the program, each ended by a signal. */
static void poll_interrupted(struct findings *f, long arg)
{
	struct sigaction handler = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaction(SIGUSR1, &handler, NULL);
	name_findings(f);
	for (f->ready = 1; f->ready <= POLLS; f->ready++) {
		if (syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0) != -1 || errno != EINTR)
			_exit(1);
	}
	set_name("frbpf-gone");
}

/* Each is a separate call, however soon the next one follows; SA_RESTART does not apply to them. */
static void test_calls_that_signals_end(void **state)
{
	struct rule_conf rules[] = {
		rule_when(655, "syscall:ppoll > 1ns", NULL),
		rule_when(656, "syscall:ppoll fails (EINTR)", NULL),
	};
	struct findings *f = shared_memory(sizeof(*f));
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	struct sink s;
	pid_t child;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, rules, ARRAY_SIZE(rules), slots);
	child = spawn(poll_interrupted, f, 0);
	for (int i = 1; i <= POLLS; i++) {
		await_call(f, i);
		kill(child, SIGUSR1);
	}
	assert_int_equal(await(child), 0);
	assert_int_equal(state_of(d, slots[0]).matched, POLLS);
	assert_int_equal(state_of(d, slots[1]).matched, POLLS);
	s = collect(d, 2000);
	assert_int_equal(s.n, 2 * POLLS);
	assert_int_equal(s.last.ret, -EINTR);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

static sigjmp_buf out_of_handler;

static void on_jump(int sig)
{
	siglongjmp(out_of_handler, 1);
}

/*
 * A handler that never returns: the read before it does not continue, and the next read is another
 * call.
 */
static void jump_out(struct findings *f, long arg)
{
	struct sigaction handler = { .sa_handler = on_jump, .sa_flags = SA_RESTART };
	char c;

	sigaction(SIGUSR1, &handler, NULL);
	name_findings(f);
	sigsetjmp(out_of_handler, 1);
	f->ready++;
	if (read(wake_pipe[0], &c, 1) != 1)
		_exit(1);
	set_name("frbpf-gone");
}

static void test_handler_that_jumps(void **state)
{
	struct rule_conf r = rule_when(657, "syscall:read > 400ms", NULL);
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	uint32_t slot;
	pid_t child;

	SKIP_UNLESS_POSSIBLE();
	assert_int_equal(pipe(wake_pipe), 0);
	d = open_detectors();
	update(d, &r, 1, &slot);
	child = spawn(jump_out, f, 0);
	await_call(f, 1);
	usleep(500000);
	assert_int_equal(kill(child, SIGUSR1), 0);
	f->begin = now_ns();
	await_call(f, 2);
	assert_int_equal(write(wake_pipe[1], "x", 1), 1);
	assert_int_equal(await(child), 0);
	f->end = now_ns();
	assert_true(state_of(d, slot).max_value <= f->end - f->begin);
	detectors__free(d);
	munmap(f, sizeof(*f));
	close(wake_pipe[0]);
	close(wake_pipe[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syscall),
#ifdef __x86_64__
		cmocka_unit_test(test_compat_calls_are_ignored),
#endif
		cmocka_unit_test(test_odd_call_numbers),
		cmocka_unit_test(test_failing_calls),
		cmocka_unit_test(test_all_calls),
		cmocka_unit_test(test_restarted_calls),
		cmocka_unit_test(test_calls_that_signals_end),
		cmocka_unit_test(test_handler_that_jumps),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
