// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of active spans: how many it holds, for how long, and what it counts (needs root and
 * BTF).
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "detect/tracepoint/span_ends.h"
#include "rules/units.h"
#include "span_fixture.h"
#include "span.skel.h"

#define STARTS (4 * FRBPF_MAX_IN_FLIGHT)

/* Begin many spans, each with another key. None of them ends. */
static void begin_many(struct findings *f)
{
	for (long i = 0; i < STARTS; i++)
		syscall(SYS_close, 1000000 + i);
}

enum key { KEY_TID, KEY_CALL_ARG, KEY_HIT_ARG };

/* Position of the first argument of a system call. */
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

/* A span on system calls, whose rule never matches. */
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
	skel->bss->control.bank[0].n_rules = 1;
	skel->bss->control.bank[0].min_threshold = UINT64_MAX;
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

/* The first members of an entry: see bpf/in_flight.bpf.h. */
struct flight {
	uint32_t busy;
	uint32_t depth;
};

/* The number of active spans; and the largest depth. */
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

/* Make hits whose argument, the key of the span, is @first and the numbers after it. */
static void hit_each(const struct bpf_program *prog, uint64_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t args[FRBPF_TP_ARGS] = { first + i };
		LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

		assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(prog), &opts), 0);
	}
}

/* One rule that matches everything. */
static void set_rule(struct span_bpf *skel)
{
	struct frbpf_rule every = { .flags = FRBPF_RULE_QUIET, .watched_keys = { 1 } };
	uint32_t zero = 0;

	skel->bss->control.bank[0].min_threshold = 0;
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

/* The number of spans dropped if those older than @age may be replaced. */
static uint64_t dropped(uint64_t age, uint32_t *ret_used)
{
	struct findings *f = shared_memory(sizeof(*f));
	struct span_bpf *skel = load_table(age, KEY_CALL_ARG, true);
	uint64_t n;

	attach_start(skel);
	run(begin_many, f);
	n = skel->bss->unmeasured;
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

/*
 * The table holds the promised number of spans, whatever their keys, even if it held others before.
 * Further spans are either counted as dropped or measured, too.
 */
static void check_all_in_flight(bool nested)
{
	struct span_bpf *skel = load_table(60 * NSEC_PER_SEC, KEY_HIT_ARG, nested);
	uint64_t first = FIRST_KEY, missed;

	set_rule(skel);
	for (int i = 0; i < 3; i++, first += FRBPF_MAX_IN_FLIGHT) {
		hit_each(skel->progs.span_start, first, FRBPF_MAX_IN_FLIGHT);
		assert_int_equal(used(skel), FRBPF_MAX_IN_FLIGHT);
		hit_each(skel->progs.span_end, first, FRBPF_MAX_IN_FLIGHT);
		assert_int_equal(skel->bss->unmeasured, 0);
		assert_int_equal(fired(skel), (i + 1) * FRBPF_MAX_IN_FLIGHT);
		assert_int_equal(used(skel), 0);
	}
	hit_each(skel->progs.span_start, first, 2 * FRBPF_MAX_IN_FLIGHT);
	missed = skel->bss->unmeasured;
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

/* So many keys, each by two threads, as nearly at the same time as possible. */
#define RACES 10000

struct race {
	const struct bpf_program *prog;
	atomic_uint ready; /* how often a key was taken */
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

/* Each key is there once, whichever thread was first, and ends once. */
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

/* A span that is too old when it begins again never ended: its depth is reset. */
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

/* A span that is too old when it ends is not measured, and its entry is free. */
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
		assert_in_range(used(skel), 0, 1000); /* of calls that last at this moment */
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
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_all_in_flight),
		cmocka_unit_test(test_begun_at_once),
		cmocka_unit_test(test_begun_again),
		cmocka_unit_test(test_too_late),
		cmocka_unit_test(test_verified_instructions),
	};

	return cmocka_run_group_tests_name("span table", tests, NULL, NULL);
}
