// SPDX-License-Identifier: GPL-2.0-only
/* Compares waits of triggers with recorded switches and wake-ups. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "perfdata/record.h"
#include "contradiction_fixture.h"

#define TYPE (RECORD_SAMPLE_TYPE | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW)

#define SUBJECT 77  /* in our pid namespace */
#define NUMBER	177 /* in the initial namespace, as events show it */
#define OTHER	88
#define BEGIN	10000
#define TRIGGER 20000

#define RUNNABLE  0
#define SLEEPS	  1
#define PREEMPTED 0x100

enum { ID_SWITCH = 11, ID_AGAIN, ID_WAKEUP, ID_CYCLES };

static char switch_format[] = "\tfield:pid_t prev_pid;\toffset:0;\tsize:4;\tsigned:1;\n"
			      "\tfield:long prev_state;\toffset:8;\tsize:8;\tsigned:1;\n"
			      "\tfield:pid_t next_pid;\toffset:16;\tsize:4;\tsigned:1;\n";
static char wakeup_format[] = "\tfield:pid_t pid;\toffset:4;\tsize:4;\tsigned:1;\n";

static struct tracepoint sched_switch = { .system = "sched",
					  .name = "sched_switch",
					  .format = switch_format,
					  .format_len = sizeof(switch_format) - 1 };
static struct tracepoint sched_wakeup = { .system = "sched",
					  .name = "sched_wakeup",
					  .format = wakeup_format,
					  .format_len = sizeof(wakeup_format) - 1 };

static int setup(void **state)
{
	struct scene *s = new_scene(4, TRIGGER + 100);
	struct perf_event_attr attr = { .sample_type = TYPE };

	s->v[0] = (struct event){ .attr = attr, .tp = &sched_switch };
	s->v[1] = (struct event){ .attr = attr, .tp = &sched_switch };
	s->v[2] = (struct event){ .attr = attr, .tp = &sched_wakeup };
	s->v[3] = (struct event){ .attr = { .sample_type = RECORD_SAMPLE_TYPE } };
	for (size_t i = 0; i < 4; i++)
		s->ids[i] = ID_SWITCH + i;
	s->inc->triggers[0] = (struct incident_trigger){
		.t = { .source = FRBPF_SOURCE_RUNQLAT,
		       .time = TRIGGER,
		       .value = TRIGGER - BEGIN,
		       .subject.tid = SUBJECT },
		.rule = &s->rule,
	};
	*state = s;
	return 0;
}

static void add_sample(struct scene *s, uint64_t id, uint64_t time, uint32_t tid, const void *raw,
		       uint32_t size)
{
	struct record_sample r = {
		.id = id, .pid = tid, .tid = tid, .time = time, .raw = raw, .raw_size = size
	};

	assert_int_equal(record__add_sample(&s->records, &r), 0);
}

static void add_switch_sample(struct scene *s, uint64_t id, uint64_t time, uint32_t tid, int prev,
			      long state, int next)
{
	struct {
		int prev, pad;
		long state;
		int next;
	} __attribute__((packed)) raw = { prev, 0, state, next };

	add_sample(s, id, time, tid, &raw, sizeof(raw));
}

static void subject_out(struct scene *s, uint64_t time, long state)
{
	add_switch_sample(s, ID_SWITCH, time, SUBJECT, NUMBER, state, 0);
}

static void subject_in(struct scene *s, uint64_t time)
{
	add_switch_sample(s, ID_SWITCH, time, OTHER, OTHER + 100, SLEEPS, NUMBER);
}

static void wake(struct scene *s, uint64_t time)
{
	int raw[2] = { 0, NUMBER };

	add_sample(s, ID_WAKEUP, time, OTHER, raw, sizeof(raw));
}

static void set_source(struct scene *s, enum frbpf_source source)
{
	s->inc->triggers[0].t.source = source;
}

/*
 * The subject is woken, and switched in at the end. Earlier and later records belong to other
 * waits.
 */
static void test_true_wait(void **state)
{
	struct scene *s = *state;

	subject_in(s, BEGIN - 500);
	subject_out(s, BEGIN - 400, SLEEPS);
	wake(s, BEGIN + 1);
	add_switch_sample(s, ID_SWITCH, BEGIN + 100, OTHER, OTHER + 100, PREEMPTED, 0);
	subject_in(s, TRIGGER - 1);
	subject_out(s, TRIGGER + 10, SLEEPS);
	subject_in(s, TRIGGER + 20);
	subject_out(s, TRIGGER + 30, SLEEPS);
	assert_int_equal(compare_trigger(s), 0);
}

/*
 * Both events show the switch-out that begins the wait. The subject is woken on its way to sleep.
 */
static void test_true_preemption(void **state)
{
	struct scene *s = *state;

	subject_out(s, BEGIN + 5, PREEMPTED);
	add_switch_sample(s, ID_AGAIN, BEGIN + 6, SUBJECT, NUMBER, PREEMPTED, 0);
	wake(s, BEGIN + 50);
	subject_in(s, TRIGGER - 2);
	add_switch_sample(s, ID_AGAIN, TRIGGER - 1, OTHER, OTHER + 100, SLEEPS, NUMBER);
	assert_int_equal(compare_trigger(s), 0);
}

static void test_true_sleep(void **state)
{
	struct scene *s = *state;

	for (int i = 0; i < 2; i++) {
		set_source(s, i ? FRBPF_SOURCE_BLOCKED : FRBPF_SOURCE_OFFCPU);
		subject_out(s, BEGIN + 5, 2);
		wake(s, TRIGGER - 50);
		subject_in(s, TRIGGER - 2);
		assert_int_equal(compare_trigger(s), 0);
		buf__free(&s->records);
	}
}

static void test_ran_in_between(void **state)
{
	struct scene *s = *state;

	wake(s, BEGIN + 1);
	subject_in(s, BEGIN + 100);
	subject_out(s, BEGIN + 300, PREEMPTED);
	subject_in(s, TRIGGER - 1);
	assert_int_equal(compare_trigger(s), BEGIN + 300);
}

/* The switches to the task were lost; each further switch away shows that it ran. */
static void test_left_twice(void **state)
{
	struct scene *s = *state;

	set_source(s, FRBPF_SOURCE_BLOCKED);
	subject_out(s, BEGIN + 5, 2);
	subject_out(s, BEGIN + 700, SLEEPS);
	subject_out(s, BEGIN + 900, SLEEPS);
	assert_int_equal(compare_trigger(s), BEGIN + 700);
}

static void test_slept_in_between(void **state)
{
	struct scene *s = *state;

	subject_out(s, BEGIN + 500, SLEEPS);
	assert_int_equal(compare_trigger(s),
			 0); /* older kernels report that state for a task woken by a
				       * signal */
	wake(s, BEGIN + 700);
	assert_int_equal(compare_trigger(s), BEGIN + 700);
}

/* Nothing can be said about these waits. */
static void test_waits_that_cannot_be_compared(void **state)
{
	struct scene *s = *state;

	subject_in(s, BEGIN + 100);
	subject_out(s, BEGIN + 300, SLEEPS);
	subject_out(s, BEGIN + 500, SLEEPS);
	set_source(s, FRBPF_SOURCE_SYSCALL); /* it may run meanwhile */
	assert_int_equal(compare_trigger(s), 0);
	set_source(s, FRBPF_SOURCE_OFFCPU);
	s->inc->triggers[0].t.subject.tid = 0;
	assert_int_equal(compare_trigger(s), 0);
	s->inc->triggers[0].t.subject.tid = SUBJECT;
	s->v[0].tp = s->v[1].tp = NULL;
	assert_int_equal(compare_trigger(s), 0);
	s->v[0].tp = &sched_switch;
	assert_int_equal(compare_trigger(s), BEGIN + 300);
}

/* The raw data are shorter than their format. */
static void test_short_raw(void **state)
{
	struct scene *s = *state;
	int raw[2] = { NUMBER, 0 };

	for (int i = 1; i < 4; i++)
		add_sample(s, ID_SWITCH, BEGIN + i, SUBJECT, raw, sizeof(raw));
	add_sample(s, ID_CYCLES, BEGIN + 9, SUBJECT, NULL, 0);
	assert_int_equal(compare_trigger(s), 0);
}

/* Gaps of the window are reported, unless there is a contradiction anyway. */
static void test_cannot_tell(void **state)
{
	struct scene *s = *state;
	enum incident_compared *compared = &s->inc->triggers[0].compared;

	subject_out(s, BEGIN + 5, PREEMPTED);
	subject_in(s, TRIGGER - 1);
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(*compared, COMPARED_AGREES);
	s->cpu.lost = 3;
	s->cpu.lost_until = BEGIN - 1; /* before the wait */
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(*compared, COMPARED_AGREES);
	s->cpu.lost_until = BEGIN + 1;
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(*compared, COMPARED_LOSSES);
	s->cpu.lost = s->cpu.lost_until = 0;
	s->res->complete = BEGIN + 1;
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(*compared, COMPARED_SHORT);
	s->res->complete = 0;
	s->session.target.kind = RECORD_TASKS;
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(*compared, COMPARED_NOT_RECORDED);
	subject_out(s, TRIGGER - 1, PREEMPTED);
	assert_int_equal(compare_trigger(s), TRIGGER - 1);
}

/* A trigger that came after the window was gathered. Its wait began at @begin. */
static const struct incident_trigger *merge_trigger(struct scene *s, enum frbpf_source source,
						    uint64_t begin, uint64_t end)
{
	struct incident_trigger *it = &s->inc->merged[0];

	*it = s->inc->triggers[0];
	it->t.source = source;
	it->t.time = end;
	it->t.value = end - begin;
	it->contradicted = 0;
	it->compared = COMPARED_NOT_RECORDED;
	s->inc->n_merged = 1;
	contradiction__look_merged(s->inc);
	return it;
}

static void test_merged_ran(void **state)
{
	struct scene *s = *state;
	const struct incident_trigger *it;

	subject_out(s, BEGIN + 100, SLEEPS);
	subject_in(s, BEGIN + 200);
	subject_out(s, BEGIN + 300, SLEEPS);
	assert_int_equal(compare_trigger(s), BEGIN + 300);
	it = merge_trigger(s, FRBPF_SOURCE_OFFCPU, BEGIN, TRIGGER + 5000);
	assert_int_equal(it->contradicted, BEGIN + 300);
	it = merge_trigger(s, FRBPF_SOURCE_OFFCPU, BEGIN + 250,
			   TRIGGER + 5000); /* the switch-out that began it */
	assert_int_equal(it->contradicted, 0);
	assert_int_equal(it->compared, COMPARED_TOO_LATE);
	it = merge_trigger(s, FRBPF_SOURCE_OFFCPU, BEGIN + 250, TRIGGER + 50);
	assert_int_equal(it->contradicted, 0);
	assert_int_equal(it->compared, COMPARED_AGREES);
	it = merge_trigger(s, FRBPF_SOURCE_SYSCALL, BEGIN, TRIGGER + 50); /* it may run meanwhile */
	assert_int_equal(it->contradicted, 0);
}

static void test_merged_slept(void **state)
{
	struct scene *s = *state;

	subject_out(s, BEGIN + 100, SLEEPS);
	wake(s, BEGIN + 700);
	compare_trigger(s);
	assert_int_equal(merge_trigger(s, FRBPF_SOURCE_RUNQLAT, BEGIN, TRIGGER + 50)->contradicted,
			 BEGIN + 700);
	assert_int_equal(
		merge_trigger(s, FRBPF_SOURCE_RUNQLAT, BEGIN + 700, TRIGGER + 50)->contradicted, 0);
	assert_int_equal(merge_trigger(s, FRBPF_SOURCE_OFFCPU, BEGIN, TRIGGER + 50)->contradicted,
			 0);
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, setup, free_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_true_wait),
		TEST(test_true_preemption),
		TEST(test_true_sleep),
		TEST(test_ran_in_between),
		TEST(test_left_twice),
		TEST(test_slept_in_between),
		TEST(test_waits_that_cannot_be_compared),
		TEST(test_short_raw),
		TEST(test_cannot_tell),
		TEST(test_merged_ran),
		TEST(test_merged_slept),
	};

	return cmocka_run_group_tests_name("contradiction", tests, NULL, NULL);
}
