// SPDX-License-Identifier: GPL-2.0-only
/*
 * The window that an incident asks for, and the file that results from a session's rings. Without a
 * kernel: the session is made by hand, and the side band knows no names.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dump/window/window.h"
#include "perfdata/record.h"
#include "rules/units.h"

#define AUTO RULESET_WINDOW_AUTO
#define RING 4096

/* ---- triggers ---- */

static struct rule_conf rule(uint64_t pre, uint64_t post)
{
	return (struct rule_conf){
		.name = "r", .when_text = "runqlat > 1", .pre = pre, .post = post
	};
}

static void add_trigger(struct incident *inc, const struct rule_conf *rule, uint64_t time)
{
	inc->triggers[inc->n_triggers++] = (struct incident_trigger){ { .time = time }, rule };
}

static uint64_t asked(const struct incident *inc, bool want_more)
{
	bool more = !want_more;
	uint64_t from = incident__asked(inc, &more);

	assert_int_equal(more, want_more);
	return from;
}

static void test_one_trigger(void **state)
{
	struct rule_conf r = rule(500, 20);
	struct incident inc = { .freeze.frozen = 20000 };

	add_trigger(&inc, &r, 10000);
	assert_int_equal(asked(&inc, false), 9500);
	assert_int_equal(incident__end(&inc), 10020);
	r.pre = r.post = 0;
	assert_int_equal(asked(&inc, false), 10000);
	assert_int_equal(incident__end(&inc), 10000);
	r.pre = AUTO;
	assert_int_equal(asked(&inc, true), 10000);
	r.pre = 20000; /* this reaches back to before the boot */
	assert_int_equal(asked(&inc, false), 1);
	r.pre = 10000;
	assert_int_equal(asked(&inc, false), 1);
}

/* The window includes the duration that an application reports, unless the rule sets `pre`. */
static void test_message_of_a_program(void **state)
{
	struct rule_conf automatic = rule(RULESET_WINDOW_AUTO, 20), given = rule(500, 20);
	struct incident inc = { .freeze.frozen = 20000 };

	add_trigger(&inc, &automatic, 10000);
	inc.triggers[0].t.value = 3000;
	assert_int_equal(asked(&inc, true), 10000);
	inc.triggers[0].t.source = FRBPF_SOURCE_APP;
	assert_int_equal(asked(&inc, true), 7000);
	inc.triggers[0].t.value = 10000; /* no duration exceeds the uptime */
	assert_int_equal(asked(&inc, true), 10000);
	inc.triggers[0].t.value = 3000;
	inc.triggers[0].rule = &given;
	assert_int_equal(asked(&inc, false), 9500);
}

static void test_several_triggers(void **state)
{
	struct rule_conf early = rule(10, 1000), late = rule(800, 0), any = rule(AUTO, 5);
	struct incident inc = { .freeze.frozen = 20000 };

	add_trigger(&inc, &early, 10000);
	add_trigger(&inc, &late, 10500);
	assert_int_equal(asked(&inc, false), 9700);
	assert_int_equal(incident__end(&inc), 11000);
	add_trigger(&inc, &late, 12000);
	assert_int_equal(asked(&inc, false), 9700);
	assert_int_equal(incident__end(&inc), 12000);
	add_trigger(&inc, &any, 12000);
	assert_int_equal(asked(&inc, true), 9700);
	assert_int_equal(incident__end(&inc), 12005);
}

/* A stop does not wait for `post`: the window ends at the freeze. */
static void test_frozen_early(void **state)
{
	struct rule_conf r = rule(500, 5000);
	struct incident inc = { .freeze.frozen = 11000 };

	add_trigger(&inc, &r, 10000);
	assert_int_equal(incident__end(&inc), 11000);
}

static void test_manual(void **state)
{
	struct incident inc = { .manual = true, .freeze.frozen = 800 };

	add_trigger(&inc, NULL, 777);
	assert_int_equal(asked(&inc, true), 777);
	assert_int_equal(incident__end(&inc), 777);
}

/* ---- names ---- */

static void check_name(const char *tz, uint64_t sec, uint64_t ns, const char *want)
{
	char name[INCIDENT_NAME_SIZE];

	setenv("TZ", tz, 1);
	tzset();
	incident__format_name(sec * NSEC_PER_SEC + ns, name);
	assert_string_equal(name, want);
}

static void test_names(void **state)
{
	check_name("UTC0", 1704164645, 678901234, "2024010203040567");
	check_name("UTC0", 1704164645, 0, "2024010203040500");
	check_name("UTC0", 1704164645, 9999999, "2024010203040500");
	check_name("UTC0", 1704164645, 10000000, "2024010203040501");
	check_name("UTC0", 1704164645, 999999999, "2024010203040599");
	check_name("XXX-05:30", 1704164645, 0, "2024010208340500");
	check_name("XXX+04", 1704164645, 0, "2024010123040500");
	check_name("UTC0", 1709164800, 0, "2024022900000000"); /* a leap day */
	check_name("UTC0", 0, 0, "1970010100000000");
}

/* ---- bounds ---- */

static struct dump_result bounds(uint64_t pre, size_t n_cpus, const uint64_t *from)
{
	struct rule_conf r = rule(pre, 50);
	struct dump_cpu cpus[4] = { 0 };
	struct dump_result res = { .cpus = cpus };
	struct incident inc = { .freeze.frozen = 20000 };

	add_trigger(&inc, &r, 10000);
	for (size_t c = 0; c < n_cpus; c++)
		cpus[c].from = from[c];
	window__set_bounds(&inc, n_cpus, &res);
	res.cpus = NULL;
	return res;
}

static void check_bounds(uint64_t pre, const uint64_t from[3], uint64_t start, bool is_short)
{
	struct dump_result res = bounds(pre, 3, from);

	assert_int_equal(res.start, start);
	assert_int_equal(res.end, 10050);
	assert_int_equal(res.short_window, is_short);
}

/*
 * The window begins where every CPU is complete; an idle CPU is complete since the session began.
 */
static void test_bounds_auto(void **state)
{
	check_bounds(AUTO, (uint64_t[]){ 100, 7000, 3000 }, 7000, false);
	check_bounds(AUTO, (uint64_t[]){ 100, 100, 100 }, 100, false);
	check_bounds(AUTO, (uint64_t[]){ 100, 10000, 100 }, 10000, false);
	/* the ring no longer has the trigger: the window keeps what is left, and is short */
	check_bounds(AUTO, (uint64_t[]){ 100, 10001, 100 }, 10000, true);
	check_bounds(AUTO, (uint64_t[]){ 100, UINT64_MAX, 100 }, 10000, true);
}

static void test_bounds_asked(void **state)
{
	check_bounds(4000, (uint64_t[]){ 100, 5000, 3000 }, 6000, false);
	check_bounds(4000, (uint64_t[]){ 100, 6000, 3000 }, 6000, false);
	check_bounds(4000, (uint64_t[]){ 100, 6001, 3000 }, 6000, true);
	check_bounds(4000, (uint64_t[]){ 6500, 6500, 6500 }, 6000, true); /* younger than asked */
	check_bounds(20000, (uint64_t[]){ 1, 2, 1 }, 1, true);
	check_bounds(0, (uint64_t[]){ 1, 1, UINT64_MAX }, 10000, true);
}

/* The bounds for an event that lasted 4000 ns and has just ended. */
static struct dump_result bounds_of_wait(uint64_t pre, size_t n_cpus, const uint64_t *from)
{
	struct rule_conf r = rule(pre, 50);
	struct dump_cpu cpus[4] = { 0 };
	struct dump_result res = { .cpus = cpus };
	struct incident inc = { .freeze.frozen = 20000 };

	add_trigger(&inc, &r, 10000);
	inc.triggers[0].t.source = FRBPF_SOURCE_RUNQLAT;
	inc.triggers[0].t.value = 4000;
	for (size_t c = 0; c < n_cpus; c++)
		cpus[c].from = from[c];
	window__set_bounds(&inc, n_cpus, &res);
	res.ring_needed = window__ring_needed(&res, n_cpus, 100, 4096);
	res.cpus = NULL;
	return res;
}

static void check_wait(uint64_t pre, const uint64_t from[2], uint64_t start, bool is_short,
		       uint64_t needed)
{
	struct dump_result res = bounds_of_wait(pre, 2, from);

	assert_int_equal(res.start, start);
	assert_int_equal(res.short_window, is_short);
	assert_int_equal(res.ring_needed, needed);
}

/* A window that begins after the wait is short. */
static void test_bounds_of_wait(void **state)
{
	check_wait(AUTO, (uint64_t[]){ 100, 6000 }, 6000, false, 0);
	check_wait(AUTO, (uint64_t[]){ 100, 3000 }, 3000, false, 0);
	check_wait(AUTO, (uint64_t[]){ 100, 6001 }, 6000, true, 8192);
	check_wait(AUTO, (uint64_t[]){ 7000, 9040 }, 7000, true, 4096 * 8); /* 1010 of 4050 */
	check_wait(AUTO, (uint64_t[]){ 100, 10045 }, 6000, true, 4096 * 1024);
	/* a ring that kept nothing does not tell which size is needed */
	check_wait(AUTO, (uint64_t[]){ 100, UINT64_MAX }, 6000, true, 0);
	/* with a `pre` of its own */
	check_wait(1000, (uint64_t[]){ 100, 6001 }, 9000, false, 0);
	check_wait(8000, (uint64_t[]){ 100, 6000 }, 2000, true, 8192);
	/* a larger ring would not help: the session is too young */
	check_wait(9950, (uint64_t[]){ 100, 100 }, 50, true, 0);
	assert_int_equal(bounds_of_wait(AUTO, 2, (uint64_t[]){ 100, 9040 }).complete, 9040);
	assert_int_equal(bounds_of_wait(AUTO, 2, (uint64_t[]){ 100, 9040 }).asked, 6000);
}

/* ---- gathering ---- */

int sideband__slice(struct sideband *sb, const struct sideband_request *req, struct err *err,
		    struct sideband_slice **ret)
{
	const struct record_trailer t = { .time = req->start - 1 };

	*ret = calloc(1, sizeof(**ret));
	assert_non_null(*ret);
	for (size_t i = 0; i < req->n_tasks; i++) {
		assert_int_equal(record__add_comm(&(*ret)->records, 0, req->tasks[i].pid,
						  req->tasks[i].tid, "x", &t),
				 0);
	}
	(*ret)->n_records = req->n_tasks;
	return 0;
}

void sideband_slice__free(struct sideband_slice *s)
{
	if (s)
		buf__free(&s->records);
	free(s);
}

/* Two CPUs, 0 and 2, with empty rings. */
struct recording {
	struct event_list events;
	struct session_cpu cpus[2];
	struct session session;
	struct ring_shot shots[2];
	struct gap_log gaps[2];
	struct dump_env env;
	struct incident *inc;
	struct dump_result res;
	struct window win;
	_Alignas(8) uint8_t copies[2][RING];
};

static struct recording *recording_new(void)
{
	struct recording *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->inc = calloc(1, sizeof(*r->inc));
	assert_non_null(r->inc);
	r->inc->freeze.frozen = 1000000; /* after every window of these tests */
	r->session = (struct session){
		.events = &r->events, .cpus = r->cpus, .n_cpus = 2, .started = 1000
	};
	for (int c = 0; c < 2; c++)
		r->cpus[c] = (struct session_cpu){
			.cpu = 2 * c, .ring.size = RING, .copy = r->copies[c], .pulse = -1
		};
	return r;
}

static void recording_free(struct recording *r)
{
	window__free(&r->win);
	free(r->res.cpus);
	free(r->inc);
	free(r);
}

/* Add a record at the front: the newest has the lowest address in the copy. */
static void prepend(struct recording *r, int c, const struct buf *b)
{
	uint64_t len = -r->shots[c].head;

	assert_true(len + b->len <= RING / 2); /* no writer in flight could reach it */
	memmove(r->copies[c] + b->len, r->copies[c], len);
	memcpy(r->copies[c], b->data, b->len);
	r->shots[c].head = r->shots[c].after -= b->len;
}

static void add_sample(struct recording *r, int c, uint64_t time, uint32_t pid)
{
	struct record_sample s = { .pid = pid, .tid = pid, .time = time, .cpu = 2 * c };
	struct buf b = { 0 };

	assert_int_equal(record__add_sample(&b, &s), 0);
	prepend(r, c, &b);
	buf__free(&b);
}

static void add_lost(struct recording *r, int c, uint64_t time, uint64_t count)
{
	struct {
		struct record_lost lost;
		struct record_trailer t;
	} rec = { { { PERF_RECORD_LOST, 0, sizeof(rec) }, 0, count }, { .time = time } };
	struct buf b = { 0 };

	assert_int_equal(buf__add(&b, &rec, sizeof(rec)), 0);
	prepend(r, c, &b);
	buf__free(&b);
}

static void gather(struct recording *r)
{
	struct dump_job job = {
		.env = &r->env,
		.inc = r->inc,
		.session = &r->session,
		.shots = r->shots,
		.gaps = r->gaps,
	};
	struct err err = { 0 };

	assert_int_equal(window__gather(&job, &r->res, &err, &r->win), 0);
	for (size_t i = 1; i < r->win.timeline.n; i++)
		assert_true(r->win.timeline.v[i - 1].time <= r->win.timeline.v[i].time);
}

static size_t count_type(const struct recording *r, uint32_t type)
{
	size_t n = 0;

	for (size_t i = 0; i < r->win.timeline.n; i++)
		n += r->win.timeline.v[i].rec->type == type;
	return n;
}

static void test_trimmed_to_the_window(void **state)
{
	struct recording *r = recording_new();
	struct rule_conf conf = rule(2000, 100);

	add_trigger(r->inc, &conf, 10000);
	add_sample(r, 0, 7999, 1);
	add_sample(r, 0, 8000, 2);
	add_sample(r, 0, 10100, 3);
	add_sample(r, 0, 10101, 4);
	add_sample(r, 1, 9000, 2);
	gather(r);
	assert_int_equal(r->res.start, 8000);
	assert_int_equal(r->res.end, 10100);
	assert_false(r->res.short_window);
	assert_int_equal(r->res.cpus[0].cpu, 0);
	assert_int_equal(r->res.cpus[0].records, 2);
	assert_int_equal(r->res.cpus[0].from, 1000);
	assert_int_equal(r->res.cpus[1].cpu, 2);
	assert_int_equal(r->res.cpus[1].records, 1);
	assert_int_equal(r->win.first_sample, 8000);
	assert_int_equal(r->win.last_sample, 10100);
	assert_int_equal(count_type(r, PERF_RECORD_SAMPLE), 3 + 1); /* and the marker */
	/* tasks of the window are named, and so is the trigger's subject 0 */
	assert_int_equal(count_type(r, PERF_RECORD_COMM), 3);
	assert_int_equal(r->win.timeline.v[0].time, 7999);
	recording_free(r);
}

/* Without `pre` the window begins with the session; an idle CPU is complete since then. */
static void test_everything_of_young_rings(void **state)
{
	struct recording *r = recording_new();

	add_trigger(r->inc, NULL, 10000);
	add_sample(r, 0, 1001, 1);
	add_sample(r, 0, 9999, 1);
	gather(r);
	assert_int_equal(r->res.start, 1000);
	assert_int_equal(r->res.end, 10000);
	assert_false(r->res.short_window);
	assert_int_equal(r->res.cpus[0].records, 2);
	assert_int_equal(r->res.cpus[1].records, 0);
	assert_int_equal(r->res.cpus[1].from, 1000);
	recording_free(r);
}

/* A ring that wrapped is complete from its oldest record on. */
static void test_wrapped_ring(void **state)
{
	struct recording *r = recording_new();
	struct rule_conf conf = rule(3000, 0);

	add_trigger(r->inc, &conf, 10000);
	for (int i = 0; i < 20; i++)
		add_sample(r, 0, 8000 + i * 100, 1);
	r->shots[0].head = r->shots[0].after = -(uint64_t)RING * 3; /* older records were there */
	add_sample(r, 1, 7500, 1);
	gather(r);
	assert_int_equal(r->res.cpus[0].from, 8000);
	assert_int_equal(r->res.cpus[0].records, 20);
	assert_true(r->res.cpus[0].torn > 0);
	assert_int_equal(r->res.cpus[1].records, 1);
	assert_int_equal(r->res.start, 7000);
	assert_true(r->res.short_window);
	recording_free(r);
}

/* The kernel throttled an event: the records are kept, and the times added up. */
static void test_throttled(void **state)
{
	struct rule_conf conf = rule(5000, 1000);
	struct recording *r = recording_new();
	struct {
		struct perf_event_header header;
		uint64_t time, id, stream_id;
		struct record_trailer t;
	} rec = { .header = { PERF_RECORD_THROTTLE, 0, sizeof(rec) } };
	const uint64_t times[] = { 1000, 6000, 7000 }; /* the first is before the window */

	for (size_t i = 0; i < 3; i++) {
		struct buf b = { 0 };

		rec.time = rec.t.time = times[i];
		assert_int_equal(buf__add(&b, &rec, sizeof(rec)), 0);
		prepend(r, 1, &b);
		buf__free(&b);
	}
	add_trigger(r->inc, &conf, 10000);
	gather(r);
	assert_int_equal(count_type(r, PERF_RECORD_THROTTLE), 2);
	assert_int_equal(r->res.cpus[0].throttled, 0);
	assert_int_equal(r->res.cpus[1].throttled, 2);
	recording_free(r);
}

/* A LOST record becomes a marker with the times of the pause that caused it. */
static void test_gaps(void **state)
{
	struct recording *r = recording_new();
	struct rule_conf conf = rule(5000, 0);

	add_trigger(r->inc, &conf, 10000);
	gap_log__add(&r->gaps[0], 6900, 6990);
	add_lost(r, 0, 4000, 3); /* before the window */
	add_lost(r, 0, 7000, 40);
	add_sample(r, 0, 7001, 1);
	gather(r);
	assert_int_equal(r->res.cpus[0].lost, 40);
	assert_int_equal(r->res.cpus[0].records, 1);
	assert_int_equal(r->win.n_gaps, 1);
	assert_int_equal(count_type(r, PERF_RECORD_LOST), 0);
	assert_int_equal(count_type(r, PERF_RECORD_SAMPLE), 3); /* sample, gap, trigger */
	recording_free(r);
}

/* The estimate for min-free includes the side band. */
static void test_bytes_of_the_file(void **state)
{
	static struct {
		struct perf_event_header h;
		char rest[120];
	} mmap = { .h = { .size = sizeof(mmap) } };
	struct buf prog = { .len = 5000 };
	struct sideband_slice slice = { 0 };
	struct window win = { .slice = &slice };
	uint64_t empty = window__file_bytes(&win);

	for (int i = 0; i < 100000; i++)
		assert_int_equal(timeline__add(&win.timeline, i, &mmap.h), 0);
	slice.bpf_progs = &prog;
	slice.n_bpf_progs = 1;
	assert_int_equal(window__file_bytes(&win) - empty, 100000 * sizeof(mmap) + 5000);
	assert_true(empty > 0);
	timeline__free(&win.timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_trigger),
		cmocka_unit_test(test_message_of_a_program),
		cmocka_unit_test(test_several_triggers),
		cmocka_unit_test(test_frozen_early),
		cmocka_unit_test(test_manual),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_bounds_auto),
		cmocka_unit_test(test_bounds_asked),
		cmocka_unit_test(test_bounds_of_wait),
		cmocka_unit_test(test_trimmed_to_the_window),
		cmocka_unit_test(test_everything_of_young_rings),
		cmocka_unit_test(test_wrapped_ring),
		cmocka_unit_test(test_throttled),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_bytes_of_the_file),
	};

	return cmocka_run_group_tests_name("incident", tests, NULL, NULL);
}
