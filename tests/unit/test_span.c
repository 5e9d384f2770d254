// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spans between tracepoints: their text, and on the running kernel (needs root and BTF). What is
 * measured happens in children: our own process is never a subject.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/tracepoint/span_ends.h"
#include "rules/units.h"
#include "detect_fixture.h"
#include "span.skel.h"

/* ---- text ---- */

static void test_target(void **state)
{
	static const struct {
		const char *when, *target;
	} cases[] = {
		{ "a:b -> c:d by tid > 5ms", "a:b -> c:d by tid" },
		{ "a:b->c:d by x.y , z>5ms", "a:b -> c:d by x.y, z" },
		{ "  tracepoint:a:b -> c : d by rq = req, cpu nested > 1s",
		  "a:b -> c:d by rq=req, cpu nested" },
		{ "a:b -> a:c by k1,k2=k3,k4,k5 > 1ns", "a:b -> a:c by k1, k2=k3, k4, k5" },
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
		const char *rule, *message; /* part of it */
	} cases[] = {
		{ "when = irq:softirq_entry -> irq:softirq_exit by vec > 1ms",
		  "the key 'vec' at irq:softirq_entry: no argument 'vec'" },
		{ "when = irq:softirq_entry -> irq:softirq_exit by tdi > 1ms",
		  "; tid, pid and cpu may be a key of any span; where the ends call it" },
		{ "when = sched:sched_wakeup -> sched:sched_switch by p.pid > 1ms",
		  "the key 'p.pid' at sched:sched_switch: no argument 'p'" },
		{ "when = sched:sched_wakeup -> sched:sched_switch by p.pid = next.pidd > 1ms",
		  "has no member 'pidd' (did you mean 'pid'?)" },
		{ "when = sched:sched_wakeup -> sched:sched_switch by p.comm = next.comm > 1ms",
		  "a key is a number or a pointer, and not a char[16]" },
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
		rs = parse_rules(rule, bind_span, said, sizeof(said));
		if (!strstr(said, cases[i].message))
			fail_msg("'%s': '%s'", cases[i].rule, said);
		ruleset__free(rs);
	}
}

/* ---- the kernel ---- */

/* What a child measured of itself. */
struct findings {
	uint64_t value[4];
	pid_t pid;
	atomic_int step;
};

static pid_t start(void (*fn)(struct findings *f), struct findings *f)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_NAME, subject_name());
		f->pid = getpid();
		fn(f);
		_exit(0);
	}
	return pid;
}

static void run(void (*fn)(struct findings *f), struct findings *f)
{
	assert_int_equal(await(start(fn, f)), 0);
}

static uint64_t nap(uint64_t ns)
{
	struct timespec t = { 0, ns };
	uint64_t begin = now_ns();

	syscall(SYS_nanosleep, &t, NULL);
	return now_ns() - begin;
}

/* So far apart that also a slow machine tells one from the other: at 100 ms and at 500 ms. */
#define SHORT_NAP (200 * MS)
#define LONG_NAP  (900 * MS)

static void nap_twice(struct findings *f)
{
	f->value[0] = nap(SHORT_NAP);
	f->value[1] = nap(LONG_NAP);
	f->value[2] = nap(MS);
}

/* As long as the workload itself measured, by thread; with a value of the start. */
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
	rs = parse_rules(rules, bind_span, NULL, 0);
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, slots);
	run(nap_twice, f);
	s = collect(d, 0);
	/* the third nap is as long only when the machine stands still */
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

/* What the threads and the test wait for: the second thread runs, the first is about to read, the second may nap, it has,
 * the first is back. */
enum { STEP_RUNS = 1, STEP_READS, STEP_NAP, STEP_NAPPED, STEP_BACK };

static int wait_pipe[2];

/* Its own waiting is no system call: none but the nap is to lie within the other thread's. */
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
	while (f->step < STEP_RUNS) /* it comes out of clone(), too */
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

/* From outside: lets the nap begin when the first thread really waits, and ends that one's wait when it is over. */
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

/* By process, two calls lie within each other. */
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
	rs = parse_rules(rules, bind_span, NULL, 0);
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

/* Pointers and what lies behind them, on both sides of a switch. */
static void test_keys(void **state)
{
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[3];

	SKIP_UNLESS_POSSIBLE();
	rs = parse_rules(
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
	/* every task of the machine that ends leaves a begin: where they are many, one of ours may find no place, which
	 * is counted */
	if (!missing(d)) {
		assert_in_range(matched(d, slots[0]), 2, 100);
		assert_int_equal(matched(d, slots[0]), matched(d, slots[1]));
		assert_in_range(matched(d, slots[2]), 1, matched(d, slots[0]));
	}
	detectors__free(d);
	ruleset__free(rs);
	munmap(f, sizeof(*f));
}

/* ---- the table ---- */

#define STARTS (4 * FRBPF_MAX_IN_FLIGHT)

/* Each of another key; what has the end never happens. */
static void begin_many(struct findings *f)
{
	for (long i = 0; i < STARTS; i++)
		syscall(SYS_close, 1000000 + i);
}

enum key { KEY_TID, KEY_CALL_ARG, KEY_HIT_ARG };

/* Where the first argument of a system call is. */
static struct frbpf_extract call_arg(void)
{
	struct btf_trace *trace;
	struct btf_value v;
	struct span bad;

	assert_int_equal(btf_trace__find("sys_enter", &trace), 0);
#if defined(__x86_64__)
	assert_int_equal(btf_trace__value(trace, "regs.di", BTF_PATH_KEY, &v, &bad, NULL), 0);
#else
	assert_int_equal(btf_trace__value(trace, "regs.orig_x0", BTF_PATH_KEY, &v, &bad, NULL), 0);
#endif
	btf_trace__free(trace);
	return v.where;
}

/* One on system calls, whose rule never matches. */
static struct span_bpf *load_table(uint64_t age, enum key key, bool nested)
{
	struct frbpf_extract x = { .kind = FRBPF_EXTRACT_NUMBER, .is_signed = true };
	struct span_bpf *skel = span_bpf__open();

	assert_non_null(skel);
	if (key == KEY_CALL_ARG)
		x = call_arg();
	else if (key == KEY_TID)
		x.kind = FRBPF_EXTRACT_TID;
	skel->rodata->n_args = skel->rodata->n_end_args = 2;
	skel->rodata->n_keys = 1;
	skel->rodata->nested = nested;
	skel->bss->start_keys[0] = skel->bss->end_keys[0] = x;
	skel->bss->control.half[0].n_rules = 1;
	skel->bss->control.half[0].min_threshold = UINT64_MAX;
	skel->data->max_age = age;
	assert_int_equal(span_bpf__load(skel), 0);
	return skel;
}

static void attach_start(struct span_bpf *skel)
{
	skel->links.span_start =
		bpf_program__attach_raw_tracepoint(skel->progs.span_start, "sys_enter");
	assert_non_null(skel->links.span_start);
}

/* What an entry begins with: see bpf/in_flight.bpf.h. */
struct flight {
	uint32_t busy;
	uint32_t depth;
};

/* How many have begun and not ended; and the largest depth of one. */
static uint32_t count_active(const struct span_bpf *skel, uint32_t *ret_deepest)
{
	const struct bpf_map *map = skel->maps.flights;
	char *key = NULL, keys[2][64];
	uint32_t n = 0, n_active = 0;
	union {
		struct flight flight;
		char room[512];
	} value;

	assert_in_range(bpf_map__key_size(map), 1, sizeof(keys[0]));
	assert_in_range(bpf_map__value_size(map), 1, sizeof(value));
	*ret_deepest = 0;
	for (; !bpf_map_get_next_key(bpf_map__fd(map), key, keys[n % 2]); n++) {
		key = keys[n % 2];
		assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(map), key, &value), 0);
		n_active += value.flight.depth != 0;
		if (value.flight.depth > *ret_deepest)
			*ret_deepest = value.flight.depth;
	}
	return n_active;
}

static uint32_t used(const struct span_bpf *skel)
{
	uint32_t deepest;

	return count_active(skel, &deepest);
}

/* Their keys are the arguments of a hit: @first and those behind it. */
static void hit_each(const struct bpf_program *prog, uint64_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t args[FRBPF_TP_ARGS] = { first + i };
		LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

		assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(prog), &opts), 0);
	}
}

/* One rule that takes all. */
static void set_rule(struct span_bpf *skel)
{
	struct frbpf_rule every = { .flags = FRBPF_RULE_QUIET, .keys = { 1 } };
	uint32_t zero = 0;

	skel->bss->control.half[0].min_threshold = 0;
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.rules), &zero, &every, BPF_ANY),
			 0);
}

static uint64_t fired(const struct span_bpf *skel)
{
	struct frbpf_rule_state st;
	uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.states), &zero, &st), 0);
	return st.fired;
}

/* How many were dropped, when what is older than @age may be replaced. */
static uint64_t dropped(uint64_t age, uint32_t *ret_used)
{
	struct findings *f = shared_memory(sizeof(*f));
	struct span_bpf *skel = load_table(age, KEY_CALL_ARG, true);
	uint64_t n;

	attach_start(skel);
	run(begin_many, f);
	n = skel->bss->missing_storage;
	*ret_used = used(skel);
	span_bpf__destroy(skel);
	munmap(f, sizeof(*f));
	return n;
}

static void test_full(void **state)
{
	uint32_t n;

	SKIP_UNLESS_POSSIBLE();
	assert_in_range(dropped(60 * NSEC_PER_SEC, &n), STARTS / 2, STARTS * 2);
	assert_in_range(n, FRBPF_MAX_IN_FLIGHT, STARTS / 2);
}

static void test_age(void **state)
{
	uint32_t n;

	SKIP_UNLESS_POSSIBLE();
	assert_in_range(dropped(1, &n), 0, STARTS / 10);
}

#define FIRST_KEY 0xffff888000000000

/* As many as there must be room for, whatever their keys, also when there have been others before. What is more is
 * counted, or measured, too. */
static void check_all_in_flight(bool nested)
{
	struct span_bpf *skel = load_table(60 * NSEC_PER_SEC, KEY_HIT_ARG, nested);
	uint64_t first = FIRST_KEY, missed;

	set_rule(skel);
	for (int i = 0; i < 3; i++, first += FRBPF_MAX_IN_FLIGHT) {
		hit_each(skel->progs.span_start, first, FRBPF_MAX_IN_FLIGHT);
		assert_int_equal(used(skel), FRBPF_MAX_IN_FLIGHT);
		hit_each(skel->progs.span_end, first, FRBPF_MAX_IN_FLIGHT);
		assert_int_equal(skel->bss->missing_storage, 0);
		assert_int_equal(fired(skel), (i + 1) * FRBPF_MAX_IN_FLIGHT);
		assert_int_equal(used(skel), 0);
	}
	hit_each(skel->progs.span_start, first, 2 * FRBPF_MAX_IN_FLIGHT);
	missed = skel->bss->missing_storage;
	assert_in_range(missed, 1, FRBPF_MAX_IN_FLIGHT);
	hit_each(skel->progs.span_end, first, 2 * FRBPF_MAX_IN_FLIGHT);
	assert_int_equal(fired(skel), 5 * FRBPF_MAX_IN_FLIGHT - missed);
	span_bpf__destroy(skel);
}

static void test_all_in_flight(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	check_all_in_flight(false);
	check_all_in_flight(true);
}

/* Each key by two threads, as nearly at the same time as they can. */
#define RACES 10000

struct race {
	const struct bpf_program *prog;
	atomic_uint ready; /* how often one was */
};

static void *begin_in_step(void *arg)
{
	struct race *race = arg;

	for (unsigned int i = 0; i < RACES; i++) {
		atomic_fetch_add(&race->ready, 1);
		while (atomic_load(&race->ready) < 2 * (i + 1))
			sched_yield();
		hit_each(race->prog, FIRST_KEY + i, 1);
	}
	return NULL;
}

/* Each is there once, whoever was first, and ends once. */
static void test_begun_at_once(void **state)
{
	struct span_bpf *skel;
	struct race race;
	pthread_t other;

	SKIP_UNLESS_POSSIBLE();
	SKIP_IF(sysconf(_SC_NPROCESSORS_ONLN) < 2, "needs two CPUs");
	skel = load_table(60 * NSEC_PER_SEC, KEY_HIT_ARG, false);
	set_rule(skel);
	race = (struct race){ .prog = skel->progs.span_start };
	assert_int_equal(pthread_create(&other, NULL, begin_in_step, &race), 0);
	begin_in_step(&race);
	pthread_join(other, NULL);
	assert_int_equal(used(skel), RACES);
	race = (struct race){ .prog = skel->progs.span_end };
	assert_int_equal(pthread_create(&other, NULL, begin_in_step, &race), 0);
	begin_in_step(&race);
	pthread_join(other, NULL);
	assert_int_equal(used(skel), 0);
	assert_int_equal(fired(skel), RACES);
	span_bpf__destroy(skel);
}

static void call_much(struct findings *f)
{
	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid);
}

static uint32_t deepest(const struct span_bpf *skel)
{
	uint32_t most;

	count_active(skel, &most);
	return most;
}

/* What is too old when it begins again was none: its depth is gone. */
static void test_begun_again(void **state)
{
	struct findings *f = shared_memory(sizeof(*f));
	struct span_bpf *skel;

	SKIP_UNLESS_POSSIBLE();
	for (int young = 0; young < 2; young++) {
		skel = load_table(young ? 60 * NSEC_PER_SEC : 1, KEY_TID, true);
		attach_start(skel);
		run(call_much, f);
		assert_in_range(deepest(skel), young ? 1000 : 1, young ? UINT32_MAX : 1);
		span_bpf__destroy(skel);
	}
	munmap(f, sizeof(*f));
}

/* Likewise when it ends: nothing is measured, and its place is free. */
static void test_too_late(void **state)
{
	struct findings *f = shared_memory(sizeof(*f));
	struct span_bpf *skel;

	SKIP_UNLESS_POSSIBLE();
	for (int young = 0; young < 2; young++) {
		skel = load_table(young ? 60 * NSEC_PER_SEC : 1, KEY_TID, true);
		set_rule(skel);
		skel->links.span_end =
			bpf_program__attach_raw_tracepoint(skel->progs.span_end, "sys_exit");
		assert_non_null(skel->links.span_end);
		attach_start(skel);
		run(call_much, f);
		assert_in_range(fired(skel), young ? 1000 : 0, young ? UINT64_MAX : 0);
		assert_in_range(used(skel), 0, 1000); /* within a call at this moment */
		span_bpf__destroy(skel);
	}
	munmap(f, sizeof(*f));
}

static void test_verified_instructions(void **state)
{
	struct bpf_prog_info info;
	struct span_bpf *skel;
	uint32_t len;

	SKIP_UNLESS_POSSIBLE();
	skel = span_bpf__open();
	assert_non_null(skel);
	skel->rodata->n_args = FRBPF_TP_ARGS;
	skel->rodata->n_end_args = FRBPF_TP_ARGS;
	skel->rodata->n_keys = FRBPF_SPAN_KEYS;
	skel->rodata->nested = true;
	skel->rodata->subject_arg = 1;
	assert_int_equal(span_bpf__load(skel), 0);
	for (int i = 0; i < 2; i++) {
		const struct bpf_program *p = i ? skel->progs.span_end : skel->progs.span_start;

		memset(&info, 0, sizeof(info));
		len = sizeof(info);
		assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len), 0);
		check_program(&info);
	}
	span_bpf__destroy(skel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_bad_targets),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_all_in_flight),
		cmocka_unit_test(test_begun_at_once),
		cmocka_unit_test(test_begun_again),
		cmocka_unit_test(test_too_late),
		cmocka_unit_test(test_verified_instructions),
	};

	return cmocka_run_group_tests_name("span", tests, NULL, NULL);
}
