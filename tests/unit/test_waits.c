// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits seen by the scheduler: for a CPU, in uninterruptible sleep, off the CPU for any reason.
 * with: others
 */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "syscall_fixture.h"

static int wake_pipe[2];

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		_exit(1);
}

static void wait_for_cpu(struct findings *f, long cpu)
{
	char c;

	pin(cpu);
	set_name("frbpf-waiter");
	f->pid = f->tid = getpid();
	__atomic_store_n(&f->ready, 1, __ATOMIC_SEQ_CST);
	if (read(wake_pipe[0], &c, 1) != 1)
		_exit(1);
	f->end = now_ns();
}

/* Wake the waiter, and keep it from the CPU. */
static void hog_cpu(struct findings *f, long cpu)
{
	struct sched_param param = { .sched_priority = 1 };
	uint64_t end;

	pin(cpu);
	set_name("frbpf-hog");
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(REFUSED);
	f->begin = now_ns();
	if (write(wake_pipe[1], "x", 1) != 1)
		_exit(1);
	end = now_ns() +
	      30 * MS; /* from the wake-up on, even if a hypervisor has stopped us before it */
	while (now_ns() < end)
		;
}

/*
 * Make a task wait 30 ms for @cpu. @load_first: the rule is older than the task. Returns 0, or
 * REFUSED.
 */
static int wait_behind_hog(struct detectors *d, const struct rule_conf *r, uint32_t *slot,
			   struct findings *f, int cpu, bool load_first)
{
	pid_t waiter;
	int status;

	assert_int_equal(pipe(wake_pipe), 0);
	if (load_first)
		update(d, r, 1, slot);
	waiter = spawn(wait_for_cpu, f, cpu);
	while (!__atomic_load_n(&f->ready, __ATOMIC_SEQ_CST))
		usleep(1000);
	await_sleep(f->tid);
	if (!load_first)
		update(d, r, 1, slot);
	status = await(spawn(hog_cpu, f, cpu));
	if (status == REFUSED)
		kill(waiter, SIGKILL);
	else
		assert_int_equal(status, 0);
	assert_int_equal(await(waiter), status == REFUSED ? -SIGKILL : 0);
	close(wake_pipe[0]);
	close(wake_pipe[1]);
	return status;
}

#define ATTEMPTS 5

/*
 * Was a wait missed, and counted as such? The kernel refuses storage for a task while another task
 * is preempted in the middle of such a request on this CPU: a recorder that begins or ends.
 */
static bool has_no_storage(struct detectors *d)
{
	struct detectors_stats stats;

	detectors__stats(d, &stats);
	return stats.unmeasured;
}

/* False: a task had no storage, see has_no_storage(). */
static bool try_runqlat(bool load_first)
{
	int cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	struct rule_conf r = runqlat_rule(1, 20 * MS);
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d = open_detectors();
	struct detectors_stats stats;
	struct sink s;
	uint32_t slot;

	r.cooldown.time = 10000 * MS;
	add_name(&r, FRBPF_FIELD_COMM, FRBPF_OP_EQ, "frbpf-waiter", 0);
	add_name(&r, FRBPF_FIELD_COMM, FRBPF_OP_NE, "frbpf-waiter",
		 FRBPF_NODE_CURRENT | FRBPF_NODE_END);
	if (wait_behind_hog(d, &r, &slot, f, cpu, load_first) == REFUSED) {
		detectors__free(d);
		print_message("skipped: SCHED_FIFO is refused here\n");
		skip();
	}
	s = collect(d, 2000);
	if (!s.n && has_no_storage(d)) {
		detectors__free(d);
		munmap(f, sizeof(*f));
		return false;
	}
	assert_int_equal(s.n, 1);
	assert_int_equal(s.last.tag, FRBPF_TAG_TRIGGER);
	assert_int_equal(s.last.source, FRBPF_SOURCE_RUNQLAT);
	assert_int_equal(s.last.rule_id, 1);
	assert_int_equal(s.last.slot, slot);
	assert_int_equal(s.last.cpu, cpu);
	assert_int_equal(s.last.threshold, 20 * MS);
	assert_in_range(s.last.value, 30 * MS, f->end - f->begin);
	assert_in_range(s.last.time, f->begin + s.last.value, f->end);
	assert_int_equal(s.last.subject.pid, f->pid);
	assert_int_equal(s.last.subject.tid, f->tid);
	assert_int_equal(s.last.subject.uid, 0);
	assert_string_equal(s.last.subject.comm, "frbpf-waiter");
	assert_string_equal(s.last.subject.process, "frbpf-waiter");
	assert_int_not_equal(s.last.current.tid, f->tid);
	detectors__stats(d, &stats);
	assert_int_equal(stats.malformed, 0);
	detectors__free(d);
	munmap(f, sizeof(*f));
	return true;
}

static void check_runqlat(bool load_first)
{
	for (int i = 0; i < ATTEMPTS; i++)
		if (try_runqlat(load_first))
			return;
	fail_msg("no storage for a task in %d attempts", ATTEMPTS);
}

static void test_runqlat_of_new_task(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	check_runqlat(true);
}

static void test_runqlat_of_old_task(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	check_runqlat(false);
}

/* The parent of vfork() sleeps uninterruptibly until its child ends. */
static void wait_for_vfork(struct findings *f, long ms)
{
	const struct timespec ts = { .tv_nsec = ms * MS };

	name_findings(f);
	f->begin = now_ns();
	if (!vfork()) {
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
		_exit(0);
	}
	f->end = now_ns();
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
}

static void test_blocked(void **state)
{
	struct rule_conf r = rule_when(600, "blocked > 40ms", NULL);
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	struct sink s;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(wait_for_vfork, f, 60)), 0);
	s = collect(d, 2000);
	assert_int_equal(s.n, 1); /* the child that slept is not blocked */
	assert_int_equal(s.last.source, FRBPF_SOURCE_BLOCKED);
	assert_int_equal(s.last.subject.pid, f->pid);
	assert_in_range(s.last.value, 60 * MS - MS, f->end - f->begin);
	assert_in_range(s.last.time, f->begin + s.last.value, f->end);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

/* Idle kernel threads are not blocked: they would always match. */
static void test_blocked_is_not_idle(void **state)
{
	struct rule_conf r = rule_when(601, "blocked > 100ms", NULL);
	struct detectors *d;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	set_condition(&r, "ppid == 2 && comm ~ \"rcu_*\"");
	d = open_detectors();
	update(d, &r, 1, &slot);
	usleep(500000);
	assert_int_equal(state_of(d, slot).matched, 0);
	detectors__free(d);
	expr__free(&r.expr);
}

/* False: a task had no storage. */
static bool try_offcpu(void)
{
	struct rule_conf rules[] = {
		/* longer than other tasks of a busy machine keep a runnable task from the CPU */
		rule_when(610, "offcpu > 500ms", "state == D"),
		rule_when(611, "offcpu > 500ms", "state == S"),
		rule_when(612, "offcpu > 500ms", "state in (R, T, I)"),
	};
	struct findings *f = shared_memory(sizeof(*f));
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	bool measured;
	struct sink s;

	d = open_detectors();
	update(d, rules, 1, slots);
	assert_int_equal(await(spawn(wait_for_vfork, f, 600)), 0);
	s = collect(d, 2000);
	if (s.n) {
		assert_int_equal(s.n, 1);
		assert_int_equal(s.last.source, FRBPF_SOURCE_OFFCPU);
		assert_int_equal(s.last.subject.pid, f->pid);
		assert_in_range(s.last.value, 600 * MS - MS, f->end - f->begin);
	}
	update(d, rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(await(spawn(wait_for_vfork, f, 600)), 0);
	measured = !has_no_storage(d);
	if (measured) {
		assert_int_equal(s.n, 1);
		assert_int_equal(state_of(d, slots[0]).matched, 2);
		assert_int_equal(state_of(d, slots[1]).matched, 2); /* the child, and the nap */
		assert_int_equal(state_of(d, slots[2]).matched, 0);
	}
	detectors__free(d);
	munmap(f, sizeof(*f));
	return measured;
}

static void test_offcpu(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	for (int i = 0; i < ATTEMPTS; i++)
		if (try_offcpu())
			return;
	fail_msg("no storage for a task in %d attempts", ATTEMPTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runqlat_of_new_task),
		cmocka_unit_test(test_runqlat_of_old_task),
		cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_blocked_is_not_idle),
		cmocka_unit_test(test_offcpu),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
