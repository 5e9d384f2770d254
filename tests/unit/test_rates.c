// SPDX-License-Identifier: GPL-2.0-only
/*
 * How often a rule fires: cooldown, count, max-dumps, and what is suppressed.
 * with: others
 */
#include <pthread.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "syscall_fixture.h"

static uint64_t suppressed(const struct frbpf_rule_state *st)
{
	uint64_t sum = 0;

	for (int i = 0; i < FRBPF_CAUSE_MAX; i++)
		sum += st->suppressed[i];
	return sum;
}

static void test_cooldown_fires_once(void **state)
{
	struct rule_conf r = syscall_rule(3, RARE_CALL, 0);
	struct frbpf_rule_state st;
	struct detectors *d;
	pid_t child[4];
	uint32_t slot;
	struct sink s;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	r.cooldown.time = 60000 * MS;
	update(d, &r, 1, &slot);
	for (size_t i = 0; i < ARRAY_SIZE(child); i++)
		child[i] = spawn(make_rare_calls, NULL, 250);
	for (size_t i = 0; i < ARRAY_SIZE(child); i++)
		assert_int_equal(await(child[i]), 0);
	s = collect(d, 2000);
	assert_int_equal(s.n, 1);
	s = collect(d, 100);
	assert_int_equal(s.n, 0);
	st = state_of(d, slot);
	assert_in_range(st.matched, 1000 - missing(d), 1000);
	assert_int_equal(st.fired, 1);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_COOLDOWN], st.matched - 1);
	assert_int_equal(st.matched, st.fired + suppressed(&st));
	assert_true(st.last_value > 0 && st.max_value >= st.last_value);
	detectors__free(d);
}

/* Three calls in each of two threads. */
static void *rare_thread(void *arg)
{
	make_rare_calls(NULL, 3);
	return NULL;
}

static void make_rare_calls_in_threads(struct findings *f, long arg)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++) {
		if (pthread_create(&t[i], NULL, rare_thread, NULL) || pthread_join(t[i], NULL))
			_exit(1);
	}
}

static void count_cooling(const struct past_cooling *c, void *arg)
{
	(*(int *)arg)++;
}

static void test_cooldown_per(void **state)
{
	/* two processes with two threads each */
	static const struct {
		enum frbpf_per per;
		enum frbpf_field field;
		int fired;
	} cases[] = {
		{ FRBPF_PER_RULE, 0, 1 },
		{ FRBPF_PER_PROCESS, 0, 2 },
		{ FRBPF_PER_THREAD, 0, 4 },
		{ FRBPF_PER_CGROUP, 0, 1 },
		{ FRBPF_PER_FIELD, FRBPF_FIELD_PID, 2 },
		{ FRBPF_PER_FIELD, FRBPF_FIELD_TID, 4 },
		{ FRBPF_PER_FIELD, FRBPF_FIELD_COMM, 1 },
		{ FRBPF_PER_FIELD, FRBPF_FIELD_SYSCALL, 1 },
	};
	enum { N = ARRAY_SIZE(cases) };
	struct rule_conf rules[N];
	struct detectors *d;
	uint32_t slots[N];
	int n = 0;

	SKIP_UNLESS_POSSIBLE();
	for (int i = 0; i < N; i++) {
		rules[i] = syscall_rule(500 + i, RARE_CALL, 0);
		rules[i].cooldown.time = 60000 * MS;
		rules[i].cooldown.per = cases[i].per;
		rules[i].cooldown.field = cases[i].field;
	}
	d = open_detectors();
	update(d, rules, N, slots);
	for (int i = 0; i < 2; i++)
		assert_int_equal(await(spawn(make_rare_calls_in_threads, NULL, 0)), 0);
	for (int i = 0; i < N; i++) {
		struct frbpf_rule_state st = state_of(d, slots[i]);

		assert_int_equal(st.matched, 12);
		if ((int)st.fired != cases[i].fired)
			fail_msg("case %d fired %llu times", i, st.fired);
		assert_int_equal(st.suppressed[FRBPF_CAUSE_COOLDOWN], 12 - st.fired);
	}
	detectors__tidy(d); /* nothing has ended */
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	assert_int_equal(state_of(d, slots[3]).fired, 1);
	assert_int_equal(state_of(d, slots[1]).fired, 3);
	/* saved when nothing fires any more: 3 processes, 5 threads, 1 cgroup, ... */
	update(d, NULL, 0, NULL);
	detectors__each_cooling(d, count_cooling, &n);
	assert_int_equal(n, 3 + 5 + 1 + 3 + 5 + 1 + 1);
	detectors__free(d);
}

/* How often the count was reached. The trigger queue is not read meanwhile, and may fill up. */
static uint64_t times_reached(const struct detectors *d, uint32_t slot)
{
	struct frbpf_rule_state st = state_of(d, slot);

	return st.fired + st.suppressed[FRBPF_CAUSE_FULL];
}

static void test_count(void **state)
{
	struct rule_conf rules[] = {
		syscall_rule(520, RARE_CALL, 0),
		syscall_rule(521, RARE_CALL, 0),
		syscall_rule(522, RARE_CALL, 0),
		syscall_rule(523, RARE_CALL, 0),
	};
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	pid_t child[4];
	uint64_t seen;

	SKIP_UNLESS_POSSIBLE();
	rules[0].count = (struct rate){ .n = 7, .time = 60000 * MS };
	rules[1].count = (struct rate){ .n = FRBPF_COUNT_MAX, .time = 60000 * MS };
	rules[2].count = (struct rate){ .n = 7, .time = 60000 * MS, .per = FRBPF_PER_THREAD };
	rules[3].count = (struct rate){ .n = 3, .time = 1 };
	d = open_detectors();
	update(d, rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 6)), 0);
	assert_int_equal(state_of(d, slots[0]).fired, 0);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 2)), 0);
	assert_int_equal(state_of(d, slots[0]).fired, 1);
	assert_int_equal(state_of(d, slots[0]).suppressed[FRBPF_CAUSE_COUNT], 7);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 14 - 8 + 7)), 0);
	assert_int_equal(state_of(d, slots[0]).fired, 3);
	/* three threads made 6, 2 and 13 calls */
	assert_int_equal(state_of(d, slots[2]).fired, 1);
	/* the calls are too far apart */
	assert_int_equal(state_of(d, slots[3]).fired, 0);
	assert_int_equal(state_of(d, slots[3]).suppressed[FRBPF_CAUSE_COUNT], 21);
	collect(d, 100);
	for (size_t i = 0; i < ARRAY_SIZE(child); i++)
		child[i] = spawn(make_rare_calls, NULL, 7 * 64 / 4);
	for (size_t i = 0; i < ARRAY_SIZE(child); i++)
		assert_int_equal(await(child[i]), 0);
	/* a call that took no time by a coarse clock does not match */
	seen = state_of(d, slots[2]).matched;
	assert_in_range(seen, 440, 21 + 448);
	/* every 64th of 21 + 448 calls; never more often, although the calls race */
	assert_in_range(times_reached(d, slots[1]), seen / FRBPF_COUNT_MAX,
			(21 + 448) / FRBPF_COUNT_MAX);
	assert_in_range(times_reached(d, slots[0]), 60, (21 + 448) / 7);
	assert_in_range(times_reached(d, slots[2]), 1 + 4 * 7 * 64 / 4 / 7 - (21 + 448 - seen),
			1 + 4 * 7 * 64 / 4 / 7);
	detectors__free(d);
}

static void test_quiet_rule(void **state)
{
	struct rule_conf r = syscall_rule(530, RARE_CALL, 0);
	struct frbpf_rule_state st;
	struct detectors *d;
	uint64_t sum = 0;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	r.quiet = true;
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 20)), 0);
	assert_int_equal(collect(d, 100).n, 0);
	st = state_of(d, slot);
	assert_int_equal(st.matched, 20);
	assert_int_equal(st.fired, 20);
	for (int i = 0; i < FRBPF_MAX_VALUES; i++) {
		sum += st.values[i];
		if (st.values[i])
			assert_true(st.max_value >= 1ULL << i);
	}
	assert_int_equal(sum, 20);
	assert_true(st.values[63 - __builtin_clzll(st.max_value)]);
	detectors__free(d);
}

static void test_suppressed(void **state)
{
	struct rule_conf rules[] = { syscall_rule(540, RARE_CALL, 0),
				     syscall_rule(541, RARE_CALL, 0) };
	struct detectors *d;
	uint32_t slots[2];

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, rules, 2, slots);
	detectors__suppress(d, slots[0], now_ns() + 60000 * MS);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	detectors__suppress(d, FRBPF_SUPPRESS_ALL, now_ns() + 60000 * MS);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	detectors__suppress(d, slots[0], now_ns() - 1);
	detectors__suppress(d, FRBPF_SUPPRESS_ALL, 0);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	assert_int_equal(state_of(d, slots[0]).suppressed[FRBPF_CAUSE_RULE_CAP], 2);
	assert_int_equal(state_of(d, slots[0]).fired, 1);
	assert_int_equal(state_of(d, slots[1]).suppressed[FRBPF_CAUSE_CAP], 1);
	assert_int_equal(state_of(d, slots[1]).fired, 2);
	detectors__free(d);
}

#ifdef SYS_alarm
/*
 * alarm() returns its previous argument, less the seconds since then, so calls can make any key. A
 * call that is a few seconds late does not make a key twice.
 */
#define KEY_STEP 10
static void make_keys(struct findings *f, long n)
{
	set_name(subject_name());
	for (long i = 1; i <= n; i++)
		syscall(SYS_alarm, 1000000 + i * KEY_STEP);
	syscall(SYS_alarm, 0);
}

static struct rule_conf count_keys(uint64_t id, const char *condition, uint64_t window)
{
	struct rule_conf r = rule_when(id, "syscall:alarm > 1ns", condition);

	r.count = (struct rate){
		.n = 2, .time = window, .per = FRBPF_PER_FIELD, .field = FRBPF_FIELD_RET
	};
	return r;
}

/* A rule without room for its keys takes none from another rule. */
static void test_no_room_for_keys(void **state)
{
	enum { ROOM = FRBPF_MAX_COUNTING, N = ROOM + 100 };
	struct rule_conf rules[] = { count_keys(550, "ret > 1000000", 3600000 * MS),
				     count_keys(551, "ret > 1040900", 3600000 * MS) };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct frbpf_rule_state st;
	struct detectors *d;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(await(spawn(make_keys, NULL, N)), 0);
	st = state_of(d, slots[0]);
	assert_int_equal(st.matched, N);
	/* the map gives each CPU some free entries in advance */
	assert_in_range(st.suppressed[FRBPF_CAUSE_KEYS], 100 - 64, 100 + 64);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_COUNT], N - st.suppressed[FRBPF_CAUSE_KEYS]);
	st = state_of(d, slots[1]);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_KEYS], 0);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_COUNT], N - 4090);
	detectors__free(d);
}

/*
 * The map is full of expired keys. The daemon is woken until there is room again, and then no more.
 */
static void test_keys_are_tidied(void **state)
{
	enum { ROOM = FRBPF_MAX_COUNTING };
	struct rule_conf r = count_keys(552, "ret > 1000000", 1);
	struct pollfd fd = { .events = POLLIN };
	struct frbpf_rule_state st;
	struct detectors *d;
	uint64_t wait;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, &r, 1, &slot);
	fd.fd = detectors__keys_fd(d);
	assert_int_equal(await(spawn(make_keys, NULL, 10)), 0);
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_int_equal(detectors__step_keys(d), UINT64_MAX);
	assert_int_equal(await(spawn(make_keys, NULL, ROOM + 100)), 0);
	st = state_of(d, slot);
	assert_true(st.suppressed[FRBPF_CAUSE_KEYS] > 0);
	assert_int_equal(poll(&fd, 1, 0), 1);
	while ((wait = detectors__step_keys(d)) != UINT64_MAX) {
		assert_in_range(wait, 0, 2000 * MS);
		usleep(wait / 1000 + 1);
	}
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_int_equal(await(spawn(make_keys, NULL, 10)), 0);
	assert_int_equal(state_of(d, slot).suppressed[FRBPF_CAUSE_KEYS],
			 st.suppressed[FRBPF_CAUSE_KEYS]);
	detectors__free(d);
}
#endif

static void test_full_ring_is_counted(void **state)
{
	struct rule_conf r = syscall_rule(4, RARE_CALL, 0);
	struct frbpf_rule_state st;
	struct detectors *d;
	uint32_t slot;
	struct sink s;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 3000)), 0);
	st = state_of(d, slot);
	assert_int_equal(st.matched, 3000);
	assert_true(st.suppressed[FRBPF_CAUSE_FULL] > 0);
	assert_int_equal(st.matched, st.fired + suppressed(&st));
	s = collect(d, 2000);
	assert_int_equal(s.n, st.fired);
	detectors__free(d);
}

static void test_own_calls_are_suppressed(void **state)
{
	struct rule_conf r = syscall_rule(5, RARE_CALL, 0);
	struct frbpf_rule_state st;
	struct detectors *d;
	uint32_t slot;
	struct sink s;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, &r, 1, &slot);
	for (int i = 0; i < 10; i++)
		syscall(RARE_CALL, SCHED_FIFO);
	s = collect(d, 100);
	assert_int_equal(s.n, 0);
	st = state_of(d, slot);
	assert_int_equal(st.matched, 10);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_SELF], 10);
	detectors__free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cooldown_fires_once),
		cmocka_unit_test(test_cooldown_per),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_quiet_rule),
		cmocka_unit_test(test_suppressed),
#ifdef SYS_alarm
		cmocka_unit_test(test_no_room_for_keys),
		cmocka_unit_test(test_keys_are_tidied),
#endif
		cmocka_unit_test(test_full_ring_is_counted),
		cmocka_unit_test(test_own_calls_are_suppressed),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
