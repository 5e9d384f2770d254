// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules on a share of time: with made-up values and times, against the exact sum; and on the
 * running kernel. Skips what needs root or kernel BTF.
 * with: others
 */
#include <netinet/in.h>
#include <sys/resource.h>

#include "inject_fixture.h"
#include "pending_fixture.h"
#include "syscall_fixture.h"

static struct rule_conf share_rule(uint64_t id, const char *when, const char *condition)
{
	struct rule_conf r = rule_of(id, when, condition);

	r.cooldown.time = 0;
	return r;
}

struct timed {
	uint64_t end, value; /* ns */
	uint32_t cpu;
};

static int inject_timed(struct bench *b, struct timed t)
{
	struct frbpf_event e = {
		.time = t.end, .value = t.value, .cpu = t.cpu, .source = FRBPF_SOURCE_APP
	};

	return fire(b, &e);
}

/* A time at which a second begins, and with it a slice of a window of 1 s. */
static uint64_t window_start(uint64_t time)
{
	return time - time % (1000 * MS);
}

static void test_adds_up(void **state)
{
	struct rule_conf r = share_rule(1, "app:x > 50% in 800ms per rule", NULL);
	uint64_t t;
	struct bench b;

	SKIP_UNLESS_POSSIBLE();
	t = window_start(now_ns()) / (800 * MS) * (800 * MS) - 8000 * MS;
	b = bench_open(&r, 1);
	assert_int_equal(inject_timed(&b, (struct timed){ t + 150 * MS, 150 * MS }), 0);
	assert_int_equal(inject_timed(&b, (struct timed){ t + 350 * MS, 150 * MS }), 0);
	assert_int_equal(inject_timed(&b, (struct timed){ t + 500 * MS, 100 * MS }), 0);
	assert_int_equal(inject_timed(&b, (struct timed){ t + 700 * MS, 50 * MS }), 1);
	assert_int_equal(b.last.value, 450 * MS);
	assert_int_equal(b.last.threshold, 400 * MS);
	assert_int_equal(b.last.flags, FRBPF_TRIGGER_SHARE);
	/* the first 100 ms are out of the window, and so are 50 ms of the next value */
	assert_int_equal(inject_timed(&b, (struct timed){ t + 950 * MS, 100 * MS }), 1);
	assert_in_range(b.last.value, 424 * MS, 426 * MS);
	/* all earlier values are out of the window */
	assert_int_equal(inject_timed(&b, (struct timed){ t + 3000 * MS, 400 * MS }), 0);
	/* of one value, at most the length of the window counts */
	assert_int_equal(inject_timed(&b, (struct timed){ t + 6000 * MS, 2000 * MS }), 1);
	assert_in_range(b.last.value, 799 * MS, 800 * MS);
	bench_close(&b);
	rule_free(&r);
}

/* The window reaches back to before the machine started. */
static void test_soon_after_boot(void **state)
{
	struct rule_conf r = share_rule(1, "app:x > 0.01% in 10m per rule", NULL);
	struct bench b;

	SKIP_UNLESS_POSSIBLE();
	b = bench_open(&r, 1);
	assert_int_equal(inject_timed(&b, (struct timed){ 100 * MS, 50 * MS }), 0);
	assert_int_equal(inject_timed(&b, (struct timed){ 300 * MS, 100 * MS }), 1);
	assert_int_equal(b.last.value, 150 * MS);
	bench_close(&b);
	rule_free(&r);
}

static void test_each_apart(void **state)
{
	struct rule_conf r[] = { share_rule(1, "app:x > 50% in 1s per cpu", NULL),
				 share_rule(2, "app:x > 50% in 1s per rule", NULL) };
	struct bench b;
	uint64_t t;

	SKIP_UNLESS_POSSIBLE();
	t = window_start(now_ns()) - 8000 * MS;
	b = bench_open(r, 2);
	assert_int_equal(inject_timed(&b, (struct timed){ t + 400 * MS, 300 * MS, 0 }), 0);
	assert_int_equal(inject_timed(&b, (struct timed){ t + 400 * MS, 300 * MS, 1 }), 1);
	assert_int_equal(b.last.rule_id, 2);
	assert_int_equal(inject_timed(&b, (struct timed){ t + 700 * MS, 201 * MS, 1 }), 2);
	assert_int_equal(matched(b.d, 0), 1);
	assert_int_equal(state_of(b.d, 0).max_value, 501 * MS);
	bench_close(&b);
	free_rules(r, 2);
}

/* `if` and the thresholds of other rules still apply to each value. */
static void test_beside_others(void **state)
{
	struct rule_conf r[] = { share_rule(1, "app:x > 50% in 1s per rule", "value > 10ms"),
				 share_rule(2, "app:x > 100ms", NULL) };
	struct bench b;
	uint64_t t;

	SKIP_UNLESS_POSSIBLE();
	t = window_start(now_ns()) - 8000 * MS;
	b = bench_open(r, 2);
	for (int i = 1; i <= 90; i++)
		assert_int_equal(inject_timed(&b, (struct timed){ t + i * 10 * MS, 10 * MS }), 0);
	assert_int_equal(inject_timed(&b, (struct timed){ t + 900 * MS, 450 * MS }), 1);
	assert_int_equal(b.last.rule_id, 2);
	assert_int_equal(b.last.value, 450 * MS);
	assert_int_equal(inject_timed(&b, (struct timed){ t + 901 * MS, 60 * MS }), 1);
	assert_int_equal(b.last.rule_id, 1);
	assert_int_equal(b.last.value, 510 * MS);
	bench_close(&b);
	free_rules(r, 2);
}

/* The part of the @window before @end that values cover. */
static uint64_t really(const struct timed *v, int n, uint64_t window, uint64_t end)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++) {
		uint64_t from = v[i].end - v[i].value;

		if (from < end - window)
			from = end - window;
		if (v[i].end > from)
			sum += v[i].end - from;
	}
	return sum;
}

/*
 * The sum differs from the exact one by at most an eighth of the window, whatever the values are.
 */
static void test_random(void **state)
{
	struct rule_conf r = share_rule(1, "app:x > 60% in 80ms per rule", NULL);
	struct timed v[400];
	struct bench b;
	uint64_t t;

	SKIP_UNLESS_POSSIBLE();
	srand(1);
	t = now_ns() - 15000 * MS;
	b = bench_open(&r, 1);
	for (int i = 0; i < (int)ARRAY_SIZE(v); i++) {
		uint64_t sum;
		int fired;

		t += (uint64_t)(rand() % 20000) * (rand() % 4 ? 100 : 1000);
		v[i] = (struct timed){ .value = 1 + (uint64_t)(rand() % 10000) * 1000 };
		v[i].end = t += v[i].value;
		fired = inject_timed(&b, v[i]);
		sum = really(v, i + 1, 80 * MS, t);
		if (sum > 58 * MS)
			assert_int_equal(fired, 1);
		if (sum < 38 * MS)
			assert_int_equal(fired, 0);
		if (fired)
			assert_in_range(b.last.value, sum > 10 * MS ? sum - 10 * MS : 0,
					sum + 10 * MS);
	}
	assert_in_range(matched(b.d, 0), 20, ARRAY_SIZE(v) - 20);
	bench_close(&b);
	rule_free(&r);
}

/* ---- the running kernel ---- */

/* Run until told to end. */
static void burn(struct findings *f, long arg)
{
	setpriority(PRIO_PROCESS, 0, -20);
	set_name(subject_name());
	while (!__atomic_load_n(&f->ready, __ATOMIC_SEQ_CST))
		;
}

static void test_on_cpu(void **state)
{
	struct rule_conf rules[] = { rule_when(10, "oncpu > 2% in 1s per thread", NULL),
				     rule_of(11, "oncpu > 100% in 1s per thread", NULL) };
	struct findings *f = shared_memory(sizeof(*f));
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	struct rusage used;
	struct sink got;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	rules[0].cooldown.time = 60000 * MS;
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	pid = spawn(burn, f, 0);
	got = collect(d, 60000);
	__atomic_store_n(&f->ready, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(await(pid), 0);
	assert_int_equal(getrusage(RUSAGE_CHILDREN, &used), 0);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.rule_id, 10);
	assert_int_equal(got.last.source, FRBPF_SOURCE_ONCPU);
	assert_int_equal(got.last.subject.tid, pid);
	assert_int_equal(got.last.threshold, 20 * MS);
	/* at most the CPU time that the kernel counted for it and its children */
	assert_in_range(got.last.value, 20 * MS + 1,
			2 * ((used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 * MS +
			     (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000ULL) +
				100 * MS);
	assert_int_equal(matched(d, slots[1]), 0); /* no thread has more than all of the time */
	assert_true(check_instructions("on_switch") > 0);
	assert_true(check_instructions("on_runtime") > 0);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
	munmap(f, sizeof(*f));
}

#define REST (20 * MS)

/* Sleep once for each byte that comes. */
static long sleep_when_told(long unused, long fd)
{
	const struct timespec ts = { .tv_nsec = REST };
	char c;

	while (read((int)fd, &c, 1) == 1)
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	return 0;
}

static uint64_t let_sleep(struct hanger *h, struct detectors *d, uint32_t slot, uint64_t n)
{
	uint64_t begin = now_ns();

	assert_int_equal(write(h->go[1], "x", 1), 1);
	await_at_least(d, slot, n);
	return now_ns() - begin;
}

static struct frbpf_trigger last_of(const struct sink *s, uint64_t rule)
{
	for (int i = s->n - 1; i >= 0; i--) {
		if (s->v[i].rule_id == rule)
			return s->v[i];
	}
	fail_msg("rule %d has not fired", (int)rule);
	return s->last;
}

/* A thread with the number of a dead one has a sum of its own, which a reload does not change. */
static void test_sums_of_threads(void **state)
{
	struct rule_conf rules[] = {
		rule_when(10, "syscall:clock_nanosleep > 0.01% in 2m per thread", NULL),
		rule_when(11, "syscall:clock_nanosleep > 0.01% in 2m per rule", NULL),
	};
	struct hanger first, second;
	uint32_t slots[ARRAY_SIZE(rules)];
	struct frbpf_trigger own, all;
	struct detectors *d;
	struct sink got;
	uint64_t took;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	first = hang_in(sleep_when_told, 0, 0);
	let_sleep(&first, d, slots[1], 1);
	assert_int_equal(kill(first.pid, SIGKILL), 0);
	assert_int_equal(await(first.pid), -SIGKILL);
	second = hang_in(sleep_when_told, 0, first.pid);
	took = let_sleep(&second, d, slots[1], 2);
	got = collect(d, LONG_MS);
	own = last_of(&got, 10);
	all = last_of(&got, 11);
	assert_int_equal(own.subject.tid, first.pid);
	assert_in_range(own.value, REST, took);
	assert_in_range(all.value, own.value + REST, UINT64_MAX);
	update(d, rules, ARRAY_SIZE(rules), slots);
	took += let_sleep(&second, d, slots[1], 3);
	got = collect(d, LONG_MS);
	assert_in_range(last_of(&got, 10).value, own.value + REST, took);
	assert_in_range(last_of(&got, 11).value, all.value + REST, UINT64_MAX);
	hanger__end(&second, 0);
	close(first.go[1]);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

/* Small datagrams to itself: a softirq receives each. */
static void flood(struct findings *f, long arg)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(to);

	if (bind(fd, (struct sockaddr *)&to, len) || getsockname(fd, (struct sockaddr *)&to, &len))
		_exit(1);
	setpriority(PRIO_PROCESS, 0, -20);
	while (!__atomic_load_n(&f->ready, __ATOMIC_SEQ_CST))
		sendto(fd, "x", 1, 0, (struct sockaddr *)&to, len);
}

/* Many short softirqs, none of which is long. */
static void test_storm(void **state)
{
	struct rule_conf r = share_rule(10, "softirq:net_rx > 0.5% in 1s", NULL);
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	struct sink got;
	uint32_t slot;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	assert_int_equal(r.when.share.per, FRBPF_PER_FIELD);
	assert_int_equal(r.when.share.field, FRBPF_FIELD_CPU);
	r.cooldown.time = 60000 * MS;
	d = detectors_with(&r, 1, &slot);
	pid = spawn(flood, f, 0);
	got = collect(d, 60000);
	__atomic_store_n(&f->ready, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(await(pid), 0);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.source, FRBPF_SOURCE_SOFTIRQ);
	assert_int_equal(got.last.threshold, 5 * MS);
	assert_in_range(got.last.value, 5 * MS + 1, 1000 * MS);
	assert_int_equal(got.last.subject.tid, 0);
	detectors__free(d);
	rule_free(&r);
	munmap(f, sizeof(*f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adds_up),		cmocka_unit_test(test_each_apart),
		cmocka_unit_test(test_soon_after_boot), cmocka_unit_test(test_beside_others),
		cmocka_unit_test(test_random),		cmocka_unit_test(test_on_cpu),
		cmocka_unit_test(test_sums_of_threads), cmocka_unit_test(test_storm),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
