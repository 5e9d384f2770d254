// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events that reach no program, as on some kernels: a program is detached while they happen. No
 * value may include what a task did meanwhile, and dropped values are counted.
 */
#include "detect/detectors_core.h"
#include "syscall_fixture.h"

#include "blocked.skel.h"
#include "offcpu.skel.h"
#include "runqlat.skel.h"
#include "syscall.skel.h"

#define GAP_MS 200 /* a value above this includes time before the gap */
#define TRIES  5   /* the kernel may lose more events than the test wants */

static int to_child[2], to_grandchild[2];

struct scene {
	struct rule_conf rule;
	struct detectors *d;
	uint32_t slot;
	struct findings *f;
	pid_t child;
	uint64_t before; /* the largest value reported before an event was missed */
};

static void pass(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		_exit(1);
}

static void let(const int *pipe_fds)
{
	assert_int_equal(write(pipe_fds[1], "x", 1), 1);
}

static void set_ready(struct findings *f, int ready)
{
	__atomic_store_n(&f->ready, ready, __ATOMIC_SEQ_CST);
}

static void begin(struct scene *s, const char *when, void (*fn)(struct findings *f, long arg))
{
	*s = (struct scene){
		.rule = rule_when(1, when, NULL),
		.f = shared_memory(sizeof(*s->f)),
	};
	assert_int_equal(pipe(to_child), 0);
	assert_int_equal(pipe(to_grandchild), 0);
	s->child = spawn(fn, s->f, 0); /* spawned first: it must not inherit what DETACH() closes */
	await_call(s->f, 1);
	s->d = detectors_with(&s->rule, 1, &s->slot);
}

static uint64_t not_seen(const struct scene *s)
{
	struct detectors_stats stats;

	detectors__stats(s->d, &stats);
	assert_int_equal(stats.not_seen, detectors__not_seen(s->d, &s->rule.when));
	return stats.not_seen;
}

static void note_largest(struct scene *s)
{
	s->before = state_of(s->d, s->slot).max_value;
}

/* Returns how many events were not seen. Since then no value exceeded @most, ns. */
static uint64_t end(struct scene *s, uint64_t most)
{
	uint64_t n;

	assert_int_equal(await(s->child), 0);
	assert_in_range(state_of(s->d, s->slot).max_value, 0, most > s->before ? most : s->before);
	n = not_seen(s);
	detectors__free(s->d);
	rule_free(&s->rule);
	munmap(s->f, sizeof(*s->f));
	for (int i = 0; i < 2; i++) {
		close(to_child[i]);
		close(to_grandchild[i]);
	}
	return n;
}

#define SKEL(s_, name_) ((struct name_##_bpf *)(s_)->d->sources[0]->skel)

#define DETACH(skel_, prog_)                                                                       \
	do {                                                                                       \
		bpf_link__destroy((skel_)->links.prog_);                                           \
		(skel_)->links.prog_ = NULL;                                                       \
	} while (0)

#define ATTACH(skel_, prog_)                                                                       \
	do {                                                                                       \
		(skel_)->links.prog_ = bpf_program__attach((skel_)->progs.prog_);                  \
		assert_non_null((skel_)->links.prog_);                                             \
	} while (0)

/* Sleeps twice. */
static void sleep_twice(struct findings *f, long arg)
{
	name_findings(f);
	set_ready(f, 1);
	pass(to_child[0]);
	set_ready(f, 2);
	pass(to_child[0]);
}

static void sleep_thrice(struct findings *f, long arg)
{
	name_findings(f);
	for (int i = 1; i <= 3; i++) {
		f->begin = now_ns();
		set_ready(f, i);
		pass(to_child[0]);
	}
}

/*
 * A task is woken. Two switches are missed: the one to it, and its next one, to sleep. With
 * @also_wakeup, so is the wake-up after that.
 */
static uint64_t miss_switch(bool also_wakeup)
{
	struct runqlat_bpf *skel;
	uint64_t woken;
	struct scene s;

	begin(&s, "runqlat > 1ms", sleep_twice);
	skel = SKEL(&s, runqlat);
	DETACH(skel, rq_switch);
	let(to_child);
	await_call(s.f, 2);
	usleep(GAP_MS * 1000);
	if (also_wakeup)
		DETACH(skel, rq_wakeup);
	note_largest(&s);
	ATTACH(skel, rq_switch);
	woken = now_ns();
	let(to_child);
	assert_int_equal(waitid(P_PID, s.child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	return end(&s, now_ns() - woken);
}

static void test_runqlat_begins_anew(void **state)
{
	uint64_t n = 0;

	SKIP_UNLESS_POSSIBLE();
	for (int i = 0; i < TRIES && !n; i++)
		n = miss_switch(false);
	assert_int_not_equal(n, 0);
}

static void test_runqlat_of_missed_wakeup(void **state)
{
	uint64_t n = 0;

	SKIP_UNLESS_POSSIBLE();
	for (int i = 0; i < TRIES && !n; i++)
		n = miss_switch(true);
	assert_int_not_equal(n, 0);
}

/* Sleeps uninterruptibly, twice. */
static void block_then_sleep(struct findings *f, long arg)
{
	name_findings(f);
	set_ready(f, 1);
	pass(to_child[0]);
	if (!vfork()) {
		pass(to_grandchild[0]);
		_exit(0);
	}
	set_ready(f, 2);
	pass(to_child[0]);
}

static void await_blocked(pid_t tid)
{
	char path[64], text[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	do {
		usleep(1000);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		assert_true(n > 0);
		text[n] = '\0';
	} while (!strstr(text, ") D"));
}

/* The end of a sleep is missed, and the task then sleeps in another way. */
static uint64_t miss_wakeup(void)
{
	struct blocked_bpf *skel;
	uint64_t woken;
	struct scene s;

	begin(&s, "blocked > 1ms", block_then_sleep);
	skel = SKEL(&s, blocked);
	let(to_child);
	await_blocked(s.f->tid);
	DETACH(skel, bl_wakeup);
	usleep(GAP_MS * 1000);
	let(to_grandchild);
	await_call(s.f, 2);
	note_largest(&s);
	ATTACH(skel, bl_wakeup);
	woken = now_ns();
	let(to_child);
	assert_int_equal(waitid(P_PID, s.child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	return end(&s, now_ns() - woken);
}

static void test_blocked(void **state)
{
	uint64_t n = 0;

	SKIP_UNLESS_POSSIBLE();
	for (int i = 0; i < TRIES && !n; i++)
		n = miss_wakeup();
	assert_int_not_equal(n, 0);
}

/* The switch to a task is missed, and so is the switch away from it. */
static uint64_t miss_run(void)
{
	struct offcpu_bpf *skel;
	struct scene s;

	begin(&s, "offcpu > 1ms", sleep_thrice);
	skel = SKEL(&s, offcpu);
	let(to_child);
	await_call(s.f, 2);
	DETACH(skel, oc_switch);
	usleep(GAP_MS * 1000);
	let(to_child);
	await_call(s.f, 3);
	note_largest(&s);
	ATTACH(skel, oc_switch);
	let(to_child);
	assert_int_equal(waitid(P_PID, s.child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	return end(&s, now_ns() - s.f->begin);
}

static void test_offcpu(void **state)
{
	uint64_t n = 0;

	SKIP_UNLESS_POSSIBLE();
	for (int i = 0; i < TRIES && !n; i++)
		n = miss_run();
	assert_int_not_equal(n, 0);
}

/* Makes the call from another place in the program. */
static __attribute__((noinline)) void call_below(void)
{
	volatile char room[256];

	room[0] = 0;
	syscall(SYS_sched_getscheduler, room[0]);
	room[1] = 0; /* otherwise the call is a tail call, with the caller's frame */
}

static void call_twice(struct findings *f, long arg)
{
	name_findings(f);
	set_ready(f, 1);
	pass(to_child[0]);
	syscall(SYS_sched_getscheduler, 0);
	set_ready(f, 2);
	pass(to_child[0]);
	f->begin = now_ns();
	call_below();
	f->end = now_ns();
}

/* The end of a call is missed, and so is the beginning of the next one. */
static void test_syscall(void **state)
{
	struct syscall_bpf *skel;
	struct scene s;

	SKIP_UNLESS_POSSIBLE();
	begin(&s, "syscall:sched_getscheduler > 1ns", call_twice);
	skel = SKEL(&s, syscall);
	DETACH(skel, sc_exit);
	let(to_child);
	await_call(s.f, 2);
	DETACH(skel, sc_enter);
	note_largest(&s);
	ATTACH(skel, sc_exit);
	usleep(GAP_MS * 1000);
	let(to_child);
	assert_int_equal(waitid(P_PID, s.child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_int_not_equal(end(&s, s.f->end - s.f->begin), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runqlat_begins_anew),
		cmocka_unit_test(test_runqlat_of_missed_wakeup),
		cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_offcpu),
		cmocka_unit_test(test_syscall),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
