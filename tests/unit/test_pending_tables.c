// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules on pending spans, calls of functions and block requests, on the real kernel. These sources
 * keep their events in tables, not by task. Independent of speed: once a look has found a later
 * event, it is known what it found of the earlier ones.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "fuse_fixture.h"
#include "loop_device.h"
#include "pending_fixture.h"
#include "user_probe_fixture.h"

#define DEAD	1     /* argument of a call that is left, or never returns */

/* ---- the function that hangs, and children that call it ---- */

WATCHED long watched_hang(long what, long fd);
WATCHED long watched_hang(long what, long fd)
{
	char c;

	return read((int)fd, &c, 1) + what;
}

static jmp_buf way_out;

WATCHED long watched_leave(long what, long fd);
WATCHED long watched_leave(long what, long fd)
{
	__asm__ volatile("" : "+r"(what), "+r"(fd));
	if (what == DEAD)
		longjmp(way_out, 1);
	return what + fd;
}

static struct hanger hang_as(long what, pid_t pid)
{
	return hang_in(watched_hang, what, pid);
}

static struct rule_conf of_subject(uint64_t id, const char *when, const char *and)
{
	char condition[128];

	snprintf(condition, sizeof(condition), "comm == \"%s\"%s", subject_name(), and);
	return rule_when(id, when, condition);
}

/* Pending system calls, as spans keyed by thread. */
#define CALLS_AS_SPANS "raw_syscalls:sys_enter -> raw_syscalls:sys_exit by tid"
#define HANGING_CALL   "uprobe:SELF:watched_hang"

/* Longer than any other system call of the children takes on a busy machine. */
static const char *const hanging[] = { "pending(" HANGING_CALL ") > 300ms",
				       "pending(" CALLS_AS_SPANS ") > 300ms" };

/* ---- the tests ---- */

static void test_fires_once_and_is_followed(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(hanging); i++) {
		struct rule_conf r = of_subject(10, hanging[i], "");
		struct detectors *d;
		struct hanger h, other;
		struct frbpf_ended end;
		struct sink got;
		uint64_t begun;
		uint32_t slot;

		SKIP_UNLESS_UPROBES();
		d = detectors_with(&r, 1, &slot);
		begun = now_ns();
		h = hang_as(0, 0);
		got = collect(d, LONG_MS);
		assert_int_equal(got.n, 1);
		assert_int_equal(waitpid(h.pid, NULL, WNOHANG), 0); /* it hangs */
		assert_int_equal(got.last.flags, FRBPF_TRIGGER_PENDING | FRBPF_TRIGGER_FOLLOWED);
		assert_int_equal(got.last.subject.tid, h.pid);
		assert_string_equal(got.last.subject.comm, subject_name());
		assert_in_range(got.last.value, 300 * MS + 1, got.last.time - begun);
		while (!got.n_stacks)
			got = collect(d, LONG_MS);
		assert_int_equal(got.stacks.tid, h.pid);
		assert_int_not_equal(got.stacks.n_kernel, 0);
		/* a later one is found, and the first is not found again */
		other = hang_as(0, 0);
		await_matched(d, slot, 2);
		hanger__end(&other, 1);
		end = await_end(d);
		assert_true(end.value > 300 * MS);
		hanger__end(&h, 1);
		end = await_end(d);
		assert_int_equal(end.of.rule_id, 10);
		assert_in_range(end.of.begin, begun, end.time);
		assert_int_equal(end.value, end.time - end.of.begin);
		assert_int_equal(matched(d, slot), 2);
		detectors__free(d);
		rule_free(&r);
	}
}

/* Its end is not seen, so it is not found any more. Later, another task has the same number. */
static void test_dies_and_its_number_is_used_again(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(hanging); i++) {
		struct rule_conf r = of_subject(10, hanging[i], "");
		struct hanger first, second;
		struct frbpf_ended end;
		struct detectors *d;
		struct sink got;
		uint32_t slot;

		SKIP_UNLESS_UPROBES();
		d = detectors_with(&r, 1, &slot);
		first = hang_as(0, 0);
		await_matched(d, slot, 1);
		assert_int_equal(kill(first.pid, SIGKILL), 0);
		assert_int_equal(await(first.pid), -SIGKILL);
		end = await_end(d);
		if (!i) /* the exit of a killed call ends the span */
			assert_int_equal(end.value, 0);
		second = hang_as(0, first.pid);
		await_matched(d, slot, 2);
		got = collect(d, LONG_MS);
		assert_int_equal(got.last.subject.tid, first.pid);
		assert_true(got.last.time - got.last.value > end.of.begin);
		hanger__end(&second, 1);
		close(first.go[1]);
		detectors__free(d);
		rule_free(&r);
	}
}

static void test_reload_keeps_what_is_pending(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(hanging); i++) {
		const char *hour =
			i ? "pending(" CALLS_AS_SPANS ") > 1h" : "pending(" HANGING_CALL ") > 1h";
		struct rule_conf rules[] = { of_subject(10, hanging[i], ""),
					     of_subject(11, hour, "") };
		uint32_t slots[ARRAY_SIZE(rules)];
		struct frbpf_ended end;
		struct detectors *d;
		struct hanger h;
		struct sink got;

		SKIP_UNLESS_UPROBES();
		d = detectors_with(&rules[1], 1, slots);
		h = hang_as(0, 0);
		await_sleep(h.pid);
		update(d, rules, ARRAY_SIZE(rules), slots);
		got = collect(d, LONG_MS);
		assert_int_equal(got.n, 1);
		assert_int_equal(got.last.subject.tid, h.pid);
		update(d, rules, ARRAY_SIZE(rules), slots);
		hanger__end(&h, 1);
		end = await_end(d);
		assert_int_equal(end.of.begin, got.last.time - got.last.value);
		assert_int_equal(matched(d, slots[0]), 1);
		detectors__free(d);
		free_rules(rules, ARRAY_SIZE(rules));
	}
}

#define CROWD 1000

static void *crowd_thread(void *arg)
{
	const struct hanger *h = arg;

	watched_hang(0, h->go[0]);
	return NULL;
}

static void crowd_run(struct hanger *h)
{
	pthread_attr_t small;
	pthread_t t;

	set_name(subject_name()); /* threads take it from here: the function cannot serve many at
				   * once */
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 1; i < CROWD; i++) {
		if (pthread_create(&t, &small, crowd_thread, h))
			_exit(2);
	}
	crowd_thread(h);
	_exit(0);
}

static void test_a_thousand_at_once(void **state)
{
	struct rule_conf rules[] = { of_subject(10, hanging[0], ""),
				     of_subject(11, hanging[1], "") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct hanger h = { 0 };
	struct detectors *d;

	SKIP_UNLESS_UPROBES();
	rules[0].quiet = rules[1].quiet = true;
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(pipe(h.go), 0);
	h.pid = fork();
	assert_true(h.pid >= 0);
	if (!h.pid)
		crowd_run(&h);
	close(h.go[0]);
	await_matched(d, slots[0], CROWD);
	await_at_least(d, slots[1], CROWD); /* starts of threads may wait as well */
	hanger__end(&h, CROWD);
	assert_int_equal(matched(d, slots[0]), CROWD);
	assert_int_equal(missing(d), 0);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

/* Many pending events of one task: a function that calls itself. */
#define DEEP 1000

WATCHED long watched_recurse(long depth, long fd);
WATCHED long watched_recurse(long depth, long fd)
{
	long below = 0;
	char c;

	if (depth > 1)
		below = watched_recurse(depth - 1, fd);
	else
		below = read((int)fd, &c, 1);
	__asm__ volatile("" : "+r"(below)); /* no loop instead */
	return below + 1;
}

static void test_a_thousand_of_one_task(void **state)
{
	struct rule_conf r = of_subject(10, "pending(uprobe:SELF:watched_recurse) > 30ms", "");
	struct hanger h = { 0 };
	struct detectors *d;
	uint32_t slot;

	SKIP_UNLESS_UPROBES();
	r.quiet = true;
	d = detectors_with(&r, 1, &slot);
	assert_int_equal(pipe(h.go), 0);
	h.pid = fork();
	assert_true(h.pid >= 0);
	if (!h.pid) {
		set_name(subject_name());
		_exit(watched_recurse(DEEP, h.go[0]) != DEEP + 1);
	}
	close(h.go[0]);
	await_matched(d, slot, DEEP);
	hanger__end(&h, 1);
	detectors__free(d);
	rule_free(&r);
}

WATCHED void leave_deep_below(void);
WATCHED void leave_deep_below(void)
{
	volatile char below[4096] = { 0 };

	watched_leave(DEAD, below[0]);
	__asm__ volatile("" ::"r"(below) : "memory"); /* no jump instead */
}

/* A call left by longjmp() is not pending once its frame is off the stack. */
static void leave_and_hang(struct findings *f, long fd)
{
	set_name(subject_name());
	if (!setjmp(way_out))
		leave_deep_below();
	watched_hang(0, fd);
}

static void test_a_call_that_was_left(void **state)
{
	struct rule_conf rules[] = { of_subject(10, "pending(" HANGING_CALL ") > 400ms", ""),
				     of_subject(11, "pending(uprobe:SELF:watched_leave) > 300ms",
						"") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	int go[2];
	pid_t pid;

	SKIP_UNLESS_UPROBES();
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(pipe(go), 0);
	pid = spawn(leave_and_hang, NULL, go[0]);
	await_matched(d, slots[0], 1); /* later, and with a higher threshold */
	assert_int_equal(matched(d, slots[1]), 0);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(await(pid), 0);
	close(go[0]);
	close(go[1]);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

WATCHED void watched_sleep(long ns);
WATCHED void watched_sleep(long ns)
{
	struct timespec ts = { 0, ns };

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
}

static void sleep_often(struct findings *f, long n)
{
	set_name(subject_name());
	for (long i = 0; i < n; i++)
		watched_sleep(19 * MS + i % 20 * MS / 10);
}

/* What is found has really lasted that long, and nothing is found twice. */
static void test_ends_in_the_very_moment(void **state)
{
	struct rule_conf rules[] = { of_subject(10, "pending(uprobe:SELF:watched_sleep) > 20ms",
						""),
				     of_subject(11, "uprobe:SELF:watched_sleep > 20ms", "") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	pid_t pids[8];

	SKIP_UNLESS_UPROBES();
	rules[0].quiet = rules[1].quiet = true;
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = spawn(sleep_often, NULL, 40);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		assert_int_equal(await(pids[i]), 0);
	assert_in_range(matched(d, slots[0]), 0, matched(d, slots[1]));
	print_message("%d found while they lasted, of %d\n", (int)matched(d, slots[0]),
		      (int)matched(d, slots[1]));
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

/* ---- block requests: to a disk whose file server does not answer ---- */

static void read_disk(struct findings *f, long fd)
{
	void *buf;

	set_name(subject_name());
	if (posix_memalign(&buf, 4096, 4096) || pread((int)fd, buf, 4096, 0) != 4096)
		_exit(1);
}

static void test_block_requests(void **state)
{
	struct rule_conf rules[] = { of_subject(10, "pending(blkio) > 30ms", " && op == read"),
				     of_subject(11, "pending(blkio.device) > 30ms", "") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct fuse_fixture fuse;
	struct loop_device loop;
	struct detectors *d;
	int file, direct, n = 0;
	struct ends ends;
	struct sink got;
	pid_t pid;

	SKIP_UNLESS_UPROBES();
	SKIP_IF(!fuse_fixture__mount(&fuse, own_path()), "no FUSE here");
	file = open(fuse.path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	if (loop_device_over(&loop, file, LO_FLAGS_READ_ONLY)) {
		close(file);
		fuse_fixture__unmount(&fuse);
		print_message("skipped: no loop devices here\n");
		skip();
	}
	direct = open(loop.path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	assert_true(direct >= 0);
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(kill(fuse.server, SIGSTOP), 0);
	pid = spawn(read_disk, NULL, direct);
	while (n < 2) {
		got = collect(d, LONG_MS);
		assert_true(got.n > 0 || got.n_stacks > 0);
		for (int i = 0; i < got.n; i++, n++) {
			assert_int_equal(got.v[i].subject.tid, pid);
			assert_int_equal(arg_value(&got.v[i], FRBPF_BLKIO_BYTES), 4096);
			assert_int_equal(arg_value(&got.v[i], FRBPF_BLKIO_DEV),
					 FRBPF_DEV(7, (unsigned int)loop.number));
			assert_true(got.v[i].value > 30 * MS);
		}
	}
	while (!got.n_stacks)
		got = collect(d, LONG_MS);
	assert_int_equal(got.stacks.tid, pid);
	assert_int_equal(kill(fuse.server, SIGCONT), 0);
	assert_int_equal(await(pid), 0);
	ends = await_ends(d, 2);
	for (n = 0; n < 2; n++)
		assert_in_range(ends.v[n].value, 30 * MS + 1, UINT64_MAX);
	assert_int_equal(matched(d, slots[0]), 1);
	assert_int_equal(matched(d, slots[1]), 1);
	detectors__free(d);
	close(direct);
	close(loop.fd);
	close(file);
	fuse_fixture__unmount(&fuse);
	free_rules(rules, ARRAY_SIZE(rules));
}

/* ---- strings ---- */

WATCHED long watched_text(const char *text, long n);
WATCHED long watched_text(const char *text, long n)
{
	__asm__ volatile("" : "+r"(text), "+r"(n));
	return n;
}

static void say_texts(struct findings *f, long unused)
{
	/* on the stack: in a new process, pages of constants may not be loaded */
	char api[] = "api.example.com", org[] = "example.org", empty[] = "";

	set_name(subject_name());
	watched_text(api, 1);
	watched_text(org, 2);
	watched_text(empty, 3);
	watched_text((const char *)8, 4); /* cannot be read */
}

static void test_strings(void **state)
{
	struct rule_conf rules[] = {
		of_subject(10, "uprobe:SELF:watched_text", " && str(arg0) ~ \"*.example.com\""),
		of_subject(11, "uprobe:SELF:watched_text", " && str(arg0) != \"example.org\""),
		of_subject(12, "uprobe:SELF:watched_text > 1ns",
			   " && str(arg0) == \"example.org\""),
	};
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors_stats stats;
	struct detectors *d;
	struct sink got;

	SKIP_UNLESS_UPROBES();
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(await(spawn(say_texts, NULL, 0)), 0);
	got = collect(d, LONG_MS);
	assert_int_equal(got.v[0].rule_id, 10);
	assert_int_equal(got.v[0].text_is, 2);
	assert_string_equal(got.v[0].text, "api.example.com");
	assert_int_equal(matched(d, slots[0]), 1);
	assert_int_equal(matched(d, slots[1]), 2); /* the first, and the empty one */
	assert_int_equal(matched(d, slots[2]), 1);
	detectors__stats(d, &stats);
	assert_int_equal(stats.texts_unread, 2); /* of the hit and of the call */
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

static void test_instructions(void **state)
{
	struct rule_conf rules[] = { rule_when(10, hanging[0], NULL),
				     rule_when(11, hanging[1], NULL),
				     rule_when(12, "pending(blkio) > 1h", NULL) };
	static const char *const programs[] = { "due_look", "span_look", "up_look",
						"io_look",  "io_stacks", "up_enter" };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;

	SKIP_UNLESS_UPROBES();
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		assert_true(check_instructions(programs[i]) > 0);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fires_once_and_is_followed),
		cmocka_unit_test(test_dies_and_its_number_is_used_again),
		cmocka_unit_test(test_reload_keeps_what_is_pending),
		cmocka_unit_test(test_a_thousand_at_once),
		cmocka_unit_test(test_a_thousand_of_one_task),
		cmocka_unit_test(test_a_call_that_was_left),
		cmocka_unit_test(test_ends_in_the_very_moment),
		cmocka_unit_test(test_block_requests),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_instructions),
	};

	test_pid();
	return cmocka_run_group_tests(tests, start_reader, stop_reader);
}
