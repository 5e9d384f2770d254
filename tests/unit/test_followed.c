// SPDX-License-Identifier: GPL-2.0-only
/*
 * How pending events that fired are followed, with made-up events and looks: an end at any moment
 * of a look is reported once, with its value. Skips without root or kernel BTF. with: others
 */
#include "detect/engine/rule_table.h"
#include "detect_fixture.h"
#include "engine_event.h"

#define BEGIN	  (1000 * MS)
#define THRESHOLD (10 * MS)
#define LOOK	  (BEGIN + 2 * THRESHOLD)
#define END	  (LOOK + 3)
#define LOOKER	  5

struct engine {
	struct engine_test_bpf *skel;
	struct ring_buffer *ring;
	struct rule_conf rule;
	int triggers, n_ended;
	struct frbpf_ended ended; /* the last one */
};

static int take_record(void *ctx, void *data, size_t size)
{
	struct engine *e = ctx;

	if (size == sizeof(struct frbpf_ended)) {
		e->ended = *(const struct frbpf_ended *)data;
		e->n_ended++;
	} else if (size == sizeof(struct frbpf_trigger)) {
		e->triggers++;
	}
	return 0;
}

/* A look at LOOK is under way. */
static void engine_open(struct engine *e)
{
	static struct rule_table table;
	const uint32_t zero = 0;

	*e = (struct engine){ .skel = engine_test_bpf__open_and_load() };
	assert_non_null(e->skel);
	e->rule = rule_of(7, "pending(runqlat) > 10ms", NULL);
	assert_int_equal(rule_table__build(&e->rule.when, &e->rule, 1, &zero, NULL, NULL, &table),
			 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(e->skel->maps.rules), &zero,
					     &table.rules[0], BPF_ANY),
			 0);
	e->skel->bss->control.bank[0] = table.bank;
	e->skel->bss->look.now = LOOK;
	e->skel->bss->look.last = LOOK - THRESHOLD / 10;
	e->skel->bss->look.looker = LOOKER;
	e->ring = ring_buffer__new(bpf_map__fd(e->skel->maps.triggers), take_record, e, NULL);
	assert_non_null(e->ring);
}

static void engine_close(struct engine *e)
{
	ring_buffer__free(e->ring);
	engine_test_bpf__destroy(e->skel);
	rule_free(&e->rule);
}

static void engine_run(struct engine *e, const struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(prog), &opts), 0);
	ring_buffer__consume(e->ring);
}

static void event_at(struct engine *e, uint64_t now, uint32_t is_pending)
{
	const uint64_t value = now - BEGIN, id = 3;
	const int64_t ret = is_pending ? 0 : -11;
	const uint32_t first = 0;
	struct event ev;

	event_begin(&ev, e->skel);
	event_set(&ev, "now", &now, sizeof(now));
	event_set(&ev, "value", &value, sizeof(value));
	event_set(&ev, "id", &id, sizeof(id));
	event_set(&ev, "ret", &ret, sizeof(ret));
	event_set(&ev, "is_pending", &is_pending, sizeof(is_pending));
	assert_int_equal(
		bpf_map_update_elem(bpf_map__fd(e->skel->maps.events), &first, ev.bytes, BPF_ANY),
		0);
	e->skel->bss->n_events = 1;
	engine_run(e, e->skel->progs.stream);
}

static void look_finds(struct engine *e)
{
	event_at(e, LOOK, 1);
}

static void it_ends(struct engine *e)
{
	event_at(e, END, 0);
}

static void look_ends(struct engine *e)
{
	engine_run(e, e->skel->progs.look_end);
}

static void set_next_look(struct engine *e, uint64_t ns, uint64_t looker)
{
	e->skel->bss->look.now = LOOK + ns;
	e->skel->bss->look.last = LOOK + ns - 1;
	e->skel->bss->look.looker = looker;
}

static size_t n_followed(const struct engine *e)
{
	struct frbpf_followed_key key;
	const struct frbpf_followed_key *last = NULL;
	size_t n = 0;

	for (; !bpf_map_get_next_key(bpf_map__fd(e->skel->maps.followed), last, &key); last = &key)
		n++;
	return n;
}

static void assert_ended(const struct engine *e)
{
	assert_int_equal(e->triggers, 1);
	assert_int_equal(e->n_ended, 1);
	assert_int_equal(e->ended.of.begin, BEGIN);
	assert_int_equal(e->ended.time, END);
	assert_int_equal(e->ended.value, END - BEGIN);
	assert_int_equal(e->ended.ret, -11);
	assert_int_equal(n_followed(e), 0);
}

/* The current look and the next one report nothing more. */
static void close_after_looks(struct engine *e)
{
	look_ends(e);
	set_next_look(e, 1, LOOKER);
	look_ends(e);
	assert_ended(e);
	engine_close(e);
}

static void test_ends_after_it_fired(void **state)
{
	struct engine e;

	SKIP_UNLESS_POSSIBLE();
	engine_open(&e);
	look_finds(&e);
	assert_int_equal(e.n_ended, 0);
	it_ends(&e);
	assert_ended(&e);
	close_after_looks(&e);
}

/* The look has seen that the event lasts. Another CPU ends the event before the rule fires. */
static void test_ends_before_it_fires(void **state)
{
	struct engine e;

	SKIP_UNLESS_POSSIBLE();
	engine_open(&e);
	it_ends(&e);
	assert_int_equal(e.n_ended, 0);
	look_finds(&e);
	assert_ended(&e);
	close_after_looks(&e);
}

static void test_ends_and_never_fires(void **state)
{
	struct engine e;

	SKIP_UNLESS_POSSIBLE();
	engine_open(&e);
	it_ends(&e);
	look_ends(&e);
	assert_int_equal(n_followed(&e), 0);
	it_ends(&e); /* no look is under way: nothing is noted */
	assert_int_equal(n_followed(&e), 0);
	assert_int_equal(e.triggers + e.n_ended, 0);
	engine_close(&e);
}

/* Looks at other events do not see this one. That does not mean that it has ended. */
static void test_other_looks(void **state)
{
	struct engine e;

	SKIP_UNLESS_POSSIBLE();
	engine_open(&e);
	look_finds(&e);
	look_ends(&e);
	for (uint64_t i = 100; i < 110; i++) {
		set_next_look(&e, i, LOOKER + 1);
		look_ends(&e);
	}
	assert_int_equal(e.n_ended, 0);
	set_next_look(&e, 200, LOOKER);
	look_ends(&e);
	assert_int_equal(e.n_ended, 1); /* it ended unseen: no look at its events found it */
	assert_int_equal(e.ended.value, 0);
	assert_int_equal(n_followed(&e), 0);
	engine_close(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_after_it_fired),
		cmocka_unit_test(test_ends_before_it_fires),
		cmocka_unit_test(test_ends_and_never_fires),
		cmocka_unit_test(test_other_looks),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
