// SPDX-License-Identifier: GPL-2.0-only
/* Compares durations and hits of triggers with recorded events at their ends. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "perfdata/record.h"
#include "contradiction_fixture.h"
#include "rules/target.h"

#define TYPE (RECORD_SAMPLE_TYPE | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW)

#define MS	    1000000ULL
#define SUBJECT	    77
#define OTHER	    88
#define BEGIN	    (10000 * MS)
#define TRIGGER	    (11000 * MS)
#define LATE	    (BEGIN + 500 * MS)
#define ERESTARTSYS 512

#define DEV    FRBPF_DEV(8, 16)
#define SECTOR 4096

/* Each event has two words: return value of a call; disk and sector of a request. */
#define FORMAT(first_, second_)                                                                    \
	"\tfield:long " first_ ";\toffset:0;\tsize:8;\tsigned:1;\n"                                \
	"\tfield:long " second_ ";\toffset:8;\tsize:8;\tsigned:1;\n"

static struct {
	const char *system, *name, *format;
} kinds[] = {
	{ "raw_syscalls", "sys_enter", FORMAT("ret", "id") },
	{ "raw_syscalls", "sys_exit", FORMAT("ret", "id") },
	{ "syscalls", "sys_enter_fsync", FORMAT("ret", "id") },
	{ "syscalls", "sys_exit_fsync", FORMAT("ret", "id") },
	{ "block", "block_rq_issue", FORMAT("dev", "sector") },
	{ "block", "block_rq_complete", FORMAT("dev", "sector") },
	{ "sock", "inet_sock_set_state", FORMAT("skaddr", "newstate") },
	{ "my", "start", FORMAT("key", "x") },
	{ "my", "end", FORMAT("id", "x") },
};
enum { ENTER, EXIT, ENTER_FSYNC, EXIT_FSYNC, ISSUE, COMPLETE, SOCK, START, END, N_KINDS };

static struct tracepoint tps[N_KINDS];

static int setup(void **state)
{
	struct scene *s = new_scene(N_KINDS, TRIGGER + MS);

	for (size_t i = 0; i < N_KINDS; i++) {
		tps[i] = (struct tracepoint){ .system = (char *)kinds[i].system,
					      .name = (char *)kinds[i].name,
					      .format = (char *)kinds[i].format,
					      .format_len = strlen(kinds[i].format) };
		s->v[i] = (struct event){ .attr = { .sample_type = TYPE, .sample_period = 1 },
					  .tp = &tps[i] };
		s->ids[i] = 100 - i;
	}
	*state = s;
	return 0;
}

static struct incident_trigger *trigger_of(struct scene *s, enum frbpf_source source)
{
	struct incident_trigger *it = &s->inc->triggers[0];

	*it = (struct incident_trigger){
		.t = { .source = source,
		       .time = TRIGGER,
		       .value = TRIGGER - BEGIN,
		       .key = 74, /* fsync of x86-64 */
		       .subject.tid = SUBJECT,
		       .current.tid = SUBJECT },
		.rule = &s->rule,
	};
	if (when__has_keys(source) && syscall__number("fsync", 5) >= 0)
		it->t.key = syscall__number("fsync", 5);
	return it;
}

static void add_sample(struct scene *s, int kind, uint64_t time, uint32_t tid, int64_t a, int64_t b)
{
	int64_t raw[2] = { a, b };
	struct record_sample r = { .id = s->ids[kind],
				   .pid = tid,
				   .tid = tid,
				   .time = time,
				   .raw = raw,
				   .raw_size = sizeof(raw) };

	assert_int_equal(record__add_sample(&s->records, &r), 0);
}

static void call(struct scene *s, int enter, uint64_t begin, uint64_t end, int64_t ret)
{
	if (begin)
		add_sample(s, enter, begin, SUBJECT, 0, 74);
	if (end)
		add_sample(s, enter + 1, end, SUBJECT, ret, 74);
}

/* Perf reads its clock before or after the BPF program does. */
static void test_true_call(void **state)
{
	struct scene *s = *state;
	struct incident_trigger *it = trigger_of(s, FRBPF_SOURCE_SYSCALL);

	for (int early = 0; early < 2; early++) {
		call(s, ENTER, BEGIN - 30, BEGIN - 20, 0);
		call(s, ENTER, BEGIN + (early ? 10 : -10), TRIGGER + (early ? -10 : 10), 0);
		call(s, ENTER, TRIGGER + 20, TRIGGER + 30, 0);
		add_sample(s, ENTER, LATE, OTHER, 0, 1);
		add_sample(s, EXIT, LATE + 1, OTHER, 0, 1);
		assert_int_equal(compare_trigger(s), 0);
		assert_int_equal(it->compared, COMPARED_AGREES);
		buf__free(&s->records);
	}
}

static void test_call_ended_in_between(void **state)
{
	struct scene *s = *state;

	trigger_of(s, FRBPF_SOURCE_SYSCALL);
	call(s, ENTER, BEGIN, LATE, 0);
	call(s, ENTER, LATE + 5, TRIGGER, 0);
	assert_int_equal(compare_trigger(s), LATE + 5);
	buf__free(&s->records);
	call(s, ENTER_FSYNC, 0, LATE, 0); /* only calls of that name are recorded */
	call(s, ENTER_FSYNC, 0, LATE + 5, 0);
	s->v[ENTER].tp = s->v[EXIT].tp = NULL;
	assert_int_equal(compare_trigger(s), LATE + 5);
}

/* If a call is restarted after a signal handler, the calls of the handler are within it. */
static void test_restarted_call(void **state)
{
	struct scene *s = *state;
	struct incident_trigger *it = trigger_of(s, FRBPF_SOURCE_SYSCALL);

	call(s, ENTER, BEGIN, LATE, -ERESTARTSYS);
	call(s, ENTER, LATE + 1, LATE + 2, 5);
	call(s, ENTER, LATE + 3, TRIGGER, 0);
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_AGREES);
}

static void test_call_began_later(void **state)
{
	struct scene *s = *state;
	struct incident_trigger *it = trigger_of(s, FRBPF_SOURCE_SYSCALL);

	call(s, ENTER, LATE, TRIGGER, 0);
	assert_int_equal(compare_trigger(s), LATE);
	buf__free(&s->records);
	call(s, ENTER, BEGIN + 5 * MS, TRIGGER, 0); /* an interrupt came between the two clocks */
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_AGREES);
}

/* Records that a session may lack without a contradiction. */
static void test_not_proven(void **state)
{
	struct scene *s = *state;
	struct incident_trigger *it = trigger_of(s, FRBPF_SOURCE_SYSCALL);

	call(s, ENTER, LATE, LATE + 1, 0);
	call(s, ENTER, LATE + 2, TRIGGER, 0);
	s->cpu.lost = 1;
	s->cpu.lost_until = LATE;
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_LOSSES);
	s->cpu.lost = s->cpu.lost_until = 0;
	s->res->complete = BEGIN - MS;
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_SHORT);
	s->res->complete = 0;
	s->res->end = TRIGGER - 1;
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_TOO_LATE);
	s->res->end = TRIGGER + MS;
	s->session.target.kind = RECORD_TASKS;
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_NOT_RECORDED);
	s->session.target.kind = RECORD_ALL;
	for (int i = 0; i < 4; i++)
		s->v[i].filter = (char *)"id == 3";
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_NOT_RECORDED);
	for (int i = 0; i < 4; i++)
		s->v[i].filter = NULL;
	assert_int_not_equal(compare_trigger(s), 0);
	buf__free(&s->records);
	assert_int_equal(compare_trigger(s), 0); /* others may have kept its events from perf */
	assert_int_equal(it->compared, COMPARED_NOT_FOUND);
}

static void request(struct scene *s, uint64_t begin, uint64_t end)
{
	if (begin)
		add_sample(s, ISSUE, begin, SUBJECT, DEV, SECTOR);
	if (end)
		add_sample(s, COMPLETE, end, OTHER, DEV, SECTOR);
}

static void test_block_request(void **state)
{
	struct scene *s = *state;
	struct incident_trigger *it = trigger_of(s, FRBPF_SOURCE_BLKIO_DEVICE);

	it->t.args[FRBPF_BLKIO_DEV - FRBPF_FIELD_ARG][0] = DEV;
	it->t.args[FRBPF_BLKIO_SECTOR - FRBPF_FIELD_ARG][0] = SECTOR;
	add_sample(s, ISSUE, LATE, OTHER, DEV, SECTOR + 8);
	add_sample(s, ISSUE, LATE, OTHER, DEV + 1, SECTOR);
	request(s, BEGIN + 20, TRIGGER + 20);
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_AGREES);
	request(s, LATE, LATE + MS); /* of the same sector, at the same time */
	assert_int_equal(compare_trigger(s), 0);
	buf__free(&s->records);
	request(s, LATE, TRIGGER + 20);
	assert_int_equal(compare_trigger(s), LATE);
	request(s, LATE + MS, LATE + 2 * MS);
	assert_int_equal(compare_trigger(s), 0); /* the two requests cannot be told apart */
	assert_int_equal(it->compared, COMPARED_NOT_FOUND);
}

static void test_span(void **state)
{
	struct scene *s = *state;
	struct incident_trigger *it = trigger_of(s, FRBPF_SOURCE_SPAN);
	struct span_target target = {
		.start = "my:start", .end = "my:end", .n_keys = 1, .keys = { { "key", "id" } }
	};

	s->rule.when.target = span_target__format(&target);
	assert_non_null(s->rule.when.target);
	it->t.subject.tid = 0; /* whoever runs at its end */
	add_sample(s, START, BEGIN, OTHER, 5, 0);
	add_sample(s, START, LATE, OTHER, 6, 0);
	add_sample(s, END, TRIGGER - 3, OTHER, 6, 0);
	add_sample(s, END, TRIGGER + 2, SUBJECT, 5, 0);
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_AGREES);
	buf__free(&s->records);
	add_sample(s, START, BEGIN, OTHER, 6, 0);
	add_sample(s, START, LATE, OTHER, 5, 0);
	add_sample(s, END, TRIGGER + 2, SUBJECT, 5, 0);
	assert_int_equal(compare_trigger(s), LATE);
	buf__free(&s->records);
	add_sample(s, START, LATE, OTHER, 5, 0);
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_NOT_FOUND);
	free(s->rule.when.target);
}

static void test_hit(void **state)
{
	struct scene *s = *state;
	struct incident_trigger *it = trigger_of(s, FRBPF_SOURCE_TRACEPOINT);

	s->rule.when.target = (char *)"my:start";
	it->t.value = 0;
	add_sample(s, START, TRIGGER + 200, SUBJECT, 0, 0);
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_AGREES);
	it->t.current.tid = OTHER;
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_NOT_FOUND);
	s->rule.when.target = (char *)"my:other";
	assert_int_equal(compare_trigger(s), 0);
	assert_int_equal(it->compared, COMPARED_NOT_RECORDED);
}

static void add_fork(struct scene *s, uint64_t time)
{
	struct {
		struct record_task task;
		struct record_trailer t;
	} r = { { { PERF_RECORD_FORK, 0, sizeof(r) }, SUBJECT, OTHER, SUBJECT, OTHER, time },
		{ .time = time } };

	assert_int_equal(buf__add(&s->records, &r, sizeof(r)), 0);
}

static void test_born_in_between(void **state)
{
	struct scene *s = *state;
	static const enum frbpf_source sources[] = { FRBPF_SOURCE_SYSCALL, FRBPF_SOURCE_RUNQLAT,
						     FRBPF_SOURCE_UPROBE };

	for (size_t i = 0; i < 3; i++) {
		trigger_of(s, sources[i]);
		add_fork(s, BEGIN);
		assert_int_equal(compare_trigger(s), 0);
		add_fork(s, LATE);
		assert_int_equal(compare_trigger(s), LATE);
		buf__free(&s->records);
	}
	/* its issuer may have ended, and its number been reused */
	trigger_of(s, FRBPF_SOURCE_BLKIO);
	add_fork(s, LATE);
	assert_int_equal(compare_trigger(s), 0);
}

static void test_merged(void **state)
{
	struct scene *s = *state;

	s->inc->merged[0] = *trigger_of(s, FRBPF_SOURCE_SYSCALL);
	s->inc->n_merged = 1;
	contradiction__look_merged(s->inc);
	assert_int_equal(s->inc->merged[0].compared, COMPARED_MERGED);
	assert_int_equal(s->inc->merged[0].contradicted, 0);
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, setup, free_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_true_call),
		TEST(test_call_ended_in_between),
		TEST(test_restarted_call),
		TEST(test_call_began_later),
		TEST(test_not_proven),
		TEST(test_block_request),
		TEST(test_span),
		TEST(test_hit),
		TEST(test_born_in_between),
		TEST(test_merged),
	};

	return cmocka_run_group_tests_name("recorded ends", tests, NULL, NULL);
}
