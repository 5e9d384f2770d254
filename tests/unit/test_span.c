// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spans between tracepoints: their text, their rules, and their values on the running kernel (needs
 * root and BTF).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "detect/tracepoint/span_ends.h"
#include "rules/units.h"
#include "span_fixture.h"

/* ---- text ---- */

static void test_target(void **state)
{
	static const struct {
		const char *when, *target;
		bool outlives_task;
	} cases[] = {
		{ "a:b -> c:d by tid > 5ms", "a:b -> c:d by tid", false },
		{ "a:b -> c:d by x, pid > 5ms", "a:b -> c:d by x, pid", false },
		{ "a:b -> c:d by tid=x > 5ms", "a:b -> c:d by tid=x", false },
		{ "a:b -> c:d by x=tid > 5ms", "a:b -> c:d by x=tid", true },
		{ "a:b->c:d by x.y , z>5ms", "a:b -> c:d by x.y, z", true },
		{ "  tracepoint:a:b -> c : d by rq = req, cpu nested > 1s",
		  "a:b -> c:d by rq=req, cpu nested", true },
		{ "a:b -> a:c by k1,k2=k3,k4,k5 > 1ns", "a:b -> a:c by k1, k2=k3, k4, k5", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *again = NULL;
		struct source_text *src;
		struct span_target t;
		struct diags d = { 0 };
		struct when w;

		assert_int_equal(source_text__from_string("f", cases[i].when, &src), 0);
		if (when__parse(src, (struct span){ 0, src->len }, &d, &w))
			fail_msg("%s: %s", cases[i].when, d.v[0].msg);
		assert_int_equal(w.source, FRBPF_SOURCE_SPAN);
		assert_false(w.hit);
		assert_string_equal(w.target, cases[i].target);
		assert_int_equal(span_target__parse(w.target, &t), 0);
		again = span_target__format(&t);
		assert_string_equal(again, w.target);
		assert_int_equal(span_target__outlives_task(&t), cases[i].outlives_task);
		when__free(&w);
		source_text__free(src);
	}
}

static void test_bad_targets(void **state)
{
	static const char *const bad[] = { "",
					   "a:b",
					   "a:b -> c:d",
					   "a:b -> c:d by",
					   "a:b -> c:d by x y",
					   "a:b -> c:d by x,",
					   "a:b -> c:d by x=",
					   "a:b -> c:d by ,x",
					   "a:b -> c:d by a, b, c, d, e" };
	struct span_target t;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(span_target__parse(bad[i], &t), -EINVAL);
}

/* ---- rules ---- */

static int bind_span(struct ruleset *rs, struct rule_conf *r, struct diags *d)
{
	return span_ends__bind(r, d);
}

static void test_errors(void **state)
{
	static const struct {
		const char *rule, *message; /* part of the message */
	} cases[] = {
		{ "when = irq:softirq_entry -> irq:softirq_exit by vec > 1ms",
		  "the key 'vec' at irq:softirq_entry: no argument 'vec'" },
		{ "when = irq:softirq_entry -> irq:softirq_exit by tdi > 1ms",
		  "; tid, pid and cpu may be a key of any span; if the ends name it" },
		{ "when = sched:sched_wakeup -> sched:sched_switch by p.pid > 1ms",
		  "the key 'p.pid' at sched:sched_switch: no argument 'p'" },
		{ "when = sched:sched_wakeup -> sched:sched_switch by p.pid = next.pidd > 1ms",
		  "has no member 'pidd' (did you mean 'pid'?)" },
		{ "when = sched:sched_wakeup -> sched:sched_switch by p.comm = next.comm > 1ms",
		  "a key must be a number or a pointer, not a char[16]" },
		{ "when = sched:sched_wakeupp -> sched:sched_switch by tid > 1ms",
		  "no tracepoint 'sched:sched_wakeupp'" },
		{ "when = sched:sched_wakeup -> sched:sched_swich by tid > 1ms",
		  "no tracepoint 'sched:sched_swich'" },
		{ "when = irq:softirq_entry -> irq:softirq_exit by cpu > 1ms\nif = vec == 3",
		  "'vec' of the span's end: no argument 'vec'" },
		{ "when = irq:softirq_entry -> irq:softirq_exit by cpu > 1ms\nif = start.vec == 3",
		  "'start.vec' of the span's start: no argument 'vec'" },
		{ "when = irq:softirq_entry -> irq:softirq_exit by cpu nested > 1ms\n"
		  "if = start.vec_nr == 3",
		  "a nested span has many starts" },
	};

	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		print_message("skipped: needs kernel BTF\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char rule[512], said[512];
		struct ruleset *rs;

		snprintf(rule, sizeof(rule), "[rule-a]\n%s\n", cases[i].rule);
		rs = parse_rules_text(rule, bind_span, said, sizeof(said));
		if (!strstr(said, cases[i].message))
			fail_msg("'%s': '%s'", cases[i].rule, said);
		ruleset__free(rs);
	}
}

/* ---- the kernel ---- */

static uint64_t nap(uint64_t ns)
{
	struct timespec t = { 0, ns };
	uint64_t begin = now_ns();

	syscall(SYS_nanosleep, &t, NULL);
	return now_ns() - begin;
}

/* Rules with thresholds of 100 ms and 500 ms can tell these naps apart, even on a slow machine. */
#define SHORT_NAP (200 * MS)
#define LONG_NAP  (900 * MS)

static void nap_twice(struct findings *f)
{
	f->value[0] = nap(SHORT_NAP);
	f->value[1] = nap(LONG_NAP);
	f->value[2] = nap(MS);
}

/*
 * The values by thread agree with the workload's own measurement. The conditions use a value of the
 * start.
 */
static void test_calls(void **state)
{
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[3];
	char rules[1024];
	uint64_t longer = 0;
	struct sink s;

	SKIP_UNLESS_POSSIBLE();
	snprintf(rules, sizeof(rules),
		 "[rule-a]\nwhen = raw_syscalls:sys_enter -> raw_syscalls:sys_exit by tid > 100ms\n"
		 "if = start.id == %ld && ret == 0 && comm == NAME\ncooldown = 0\n"
		 "[rule-b]\nwhen = raw_syscalls:sys_enter -> raw_syscalls:sys_exit by tid > 500ms\n"
		 "if = start.id == %ld && comm == NAME\ndump = none\ncooldown = 0\n"
		 "[rule-c]\nwhen = raw_syscalls:sys_enter -> raw_syscalls:sys_exit by tid > 100ms\n"
		 "if = start.id == %ld && comm == NAME\ndump = none\n",
		 (long)SYS_nanosleep, (long)SYS_nanosleep, (long)SYS_getppid);
	rs = parse_rules_text(rules, bind_span, NULL, 0);
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, slots);
	run(nap_twice, f);
	s = collect(d, 0);
	/* the third nap takes so long only if the machine stands still */
	assert_in_range(s.n, 2, f->value[2] > 100 * MS ? 3 : 2);
	for (int i = 0; i < 2; i++) {
		longer += s.v[i].value > 500 * MS;
		assert_int_equal(s.v[i].source, FRBPF_SOURCE_SPAN);
		assert_int_equal(s.v[i].subject.pid, f->pid);
		assert_in_range(s.v[i].value, i ? LONG_NAP : SHORT_NAP, f->value[i]);
	}
	if (s.n > 2)
		longer += s.v[2].value > 500 * MS;
	assert_int_equal(matched(d, slots[0]), s.n);
	assert_int_equal(matched(d, slots[1]), longer);
	assert_int_equal(matched(d, slots[2]), 0);
	detectors__free(d);
	ruleset__free(rs);
	munmap(f, sizeof(*f));
}

/*
 * Steps that the threads and the test wait for: the second thread runs; the first is about to read;
 * the second may nap; the second has napped; the first is back.
 */
enum { STEP_RUNS = 1, STEP_READS, STEP_NAP, STEP_NAPPED, STEP_BACK };

static int wait_pipe[2];

/*
 * The second thread spins while it waits, so that only the nap falls into the other thread's call.
 */
static void *inner(void *arg)
{
	struct findings *f = arg;

	f->step = STEP_RUNS;
	while (f->step < STEP_NAP)
		;
	f->value[1] = nap(40 * MS);
	f->step = STEP_NAPPED;
	while (f->step < STEP_BACK)
		;
	return NULL;
}

static void nap_within_read(struct findings *f)
{
	uint64_t begin;
	pthread_t t;
	char c;

	close(wait_pipe[1]);
	if (pthread_create(&t, NULL, inner, f))
		_exit(1);
	while (f->step < STEP_RUNS) /* it has also returned from clone() */
		;
	begin = now_ns();
	f->step = STEP_READS;
	if (read(wait_pipe[0], &c, 1))
		_exit(2);
	f->value[0] = now_ns() - begin;
	f->step = STEP_BACK;
	pthread_join(t, NULL);
}

static bool sleeps(pid_t tid)
{
	char path[64], text[512] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		fail_msg("%s: %s", path, strerror(errno));
	close(fd);
	return strstr(text, ") S");
}

/* From outside: start the nap when the first thread really waits. End that wait after the nap. */
static void lead(struct findings *f)
{
	close(wait_pipe[0]);
	while (f->step < STEP_READS || !sleeps(f->pid))
		usleep(1000);
	f->step = STEP_NAP;
	while (f->step < STEP_NAPPED)
		usleep(1000);
	close(wait_pipe[1]);
}

static bool has_value(const struct sink *s, uint64_t least, uint64_t most)
{
	for (int i = 0; i < s->n; i++) {
		if (s->v[i].value >= least && s->v[i].value <= most)
			return true;
	}
	return false;
}

/* By process, one call lies within the other. */
static void check_within(const char *nested, bool has_outer)
{
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	struct ruleset *rs;
	char rules[512];
	uint32_t slot;
	struct sink s;
	pid_t child;

	snprintf(rules, sizeof(rules),
		 "[rule-a]\nwhen = raw_syscalls:sys_enter -> raw_syscalls:sys_exit by pid %s > "
		 "20ms\n"
		 "if = process == NAME && ret == 0\ncooldown = 0\n",
		 nested);
	rs = parse_rules_text(rules, bind_span, NULL, 0);
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, &slot);
	assert_int_equal(pipe(wait_pipe), 0);
	child = start(nap_within_read, f);
	lead(f);
	assert_int_equal(await(child), 0);
	s = collect(d, 0);
	assert_true(has_value(&s, 40 * MS, f->value[1]));
	assert_int_equal(has_value(&s, f->value[1] + 1, f->value[0]), has_outer);
	detectors__free(d);
	ruleset__free(rs);
	munmap(f, sizeof(*f));
}

static void test_nested(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	check_within("nested", true);
	check_within("", false);
}

/* Keys that are pointers, or what pointers lead to, on both sides of a switch. */
static void test_keys(void **state)
{
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[3];

	SKIP_UNLESS_POSSIBLE();
	rs = parse_rules_text(
		"[rule-a]\nwhen = sched:sched_switch -> sched:sched_switch by "
		"prev.pid = next.pid, prev.start_boottime = next.start_boottime > 100ms\n"
		"if = next.comm == NAME\ndump = none\n"
		"[rule-b]\nwhen = sched:sched_switch -> sched:sched_switch by prev = next > 100ms\n"
		"if = next.comm == NAME && start.prev.comm == NAME\ndump = none\n"
		"[rule-c]\nwhen = sched:sched_switch -> sched:sched_switch by prev = next > 500ms\n"
		"if = next.comm == NAME\ndump = none\n",
		bind_span, NULL, 0);
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, slots);
	run(nap_twice, f);
	/*
	 * every ending task leaves a span without an end; with many of them, one of ours may find
	 * no room, which is counted
	 */
	if (!missing(d)) {
		assert_in_range(matched(d, slots[0]), 2, 100);
		assert_int_equal(matched(d, slots[0]), matched(d, slots[1]));
		assert_in_range(matched(d, slots[2]), 1, matched(d, slots[0]));
	}
	detectors__free(d);
	ruleset__free(rs);
	munmap(f, sizeof(*f));
}

/*
 * A task that ends leaves a span without an end: its last system call. Another task gets its
 * number, and comes to an end without a start: it returns from the call that created it.
 */
static pid_t start_as(pid_t pid)
{
	pid = fork_as(pid);
	assert_true(pid >= 0);
	if (!pid)
		_exit(0);
	assert_int_equal(await(pid), 0);
	return pid;
}

static void test_number_is_used_again(void **state)
{
	static const char *const keys[] = { "tid", "pid" };
	char rules[512], name[FRBPF_COMM_LEN] = "";
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[2];

	SKIP_UNLESS_POSSIBLE();
	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, subject_name());
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		snprintf(rules, sizeof(rules),
			 "[rule-last]\n"
			 "when = raw_syscalls:sys_enter -> raw_syscalls:sys_exit by %s > 1ns\n"
			 "if = start.id == %ld && comm == NAME\ndump = none\n"
			 "[rule-any]\n"
			 "when = raw_syscalls:sys_enter -> raw_syscalls:sys_exit by %s > 1ns\n"
			 "if = comm == NAME\ndump = none\n",
			 keys[i], (long)SYS_exit_group, keys[i]);
		rs = parse_rules_text(rules, bind_span, NULL, 0);
		d = open_detectors();
		update(d, rs->rules, rs->n_rules, slots);
		start_as(start_as(0));
		assert_int_equal(matched(d, slots[0]), 0);
		detectors__free(d);
		ruleset__free(rs);
	}
	prctl(PR_SET_NAME, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target), cmocka_unit_test(test_bad_targets),
		cmocka_unit_test(test_errors), cmocka_unit_test(test_calls),
		cmocka_unit_test(test_nested), cmocka_unit_test(test_keys),
		cmocka_unit_test(test_number_is_used_again),
	};

	return cmocka_run_group_tests_name("span", tests, NULL, NULL);
}
