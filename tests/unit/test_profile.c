// SPDX-License-Identifier: GPL-2.0-only
/* The parts of diff: time off CPU, comparison, choice of files. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "perfdata/marker.h"
#include "perfdata/record.h"
#include "analyse/profile_diff.h"
#include "analyse/profile.h"
#include "analyse/recordings.h"

#define MS 1000000ULL

static const char format[] = "name: sched_switch\nID: 314\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			     "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			     "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			     "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
			     "\tfield:pid_t next_pid;\toffset:40;\tsize:4;\tsigned:1;\n\n"
			     "print fmt: \"prev_pid=%d\", REC->prev_pid\n";

static void switch_to(struct offcpu *o, uint64_t time, uint32_t prev, uint32_t next, uint32_t state,
		      uint32_t stack)
{
	struct task_switch t = {
		.time = time, .prev = prev, .next = next, .tid = prev, .state = state
	};

	snprintf(t.comm, sizeof(t.comm), "task%u", prev);
	assert_int_equal(offcpu__switch(o, &t, stack), 0);
}

static void test_offcpu(void **state)
{
	struct offcpu o = { 0 };

	switch_to(&o, 10 * MS, 1, 0, 1, 0);    /* 1 sleeps */
	switch_to(&o, 15 * MS, 0, 1, 0, 9);    /* 1 slept for 5 ms; idle does not count */
	switch_to(&o, 20 * MS, 1, 2, 2, 1);    /* 1 sleeps in D, until the end */
	switch_to(&o, 22 * MS, 2, 3, 0, 2);    /* 2 is preempted */
	switch_to(&o, 30 * MS, 3, 0, 0x20, 3); /* 3 ends */
	switch_to(&o, 40 * MS, 0, 2, 0, 9);
	assert_int_equal(offcpu__end(&o, 50 * MS), 0);
	assert_int_equal(o.v[0].ns, 5 * MS);
	assert_int_equal(o.v[0].open_ns, 0);
	assert_string_equal(o.v[0].comm, "task1");
	assert_int_equal(o.v[1].ns, 30 * MS);
	assert_int_equal(o.v[1].open_ns, 30 * MS);
	assert_int_equal(o.v[2].ns, 18 * MS);
	assert_int_equal(o.v[2].times, 1);
	assert_true(o.n <= 3 || o.v[3].ns == 0);
	assert_int_equal(o.ns, 53 * MS);
	assert_int_equal(o.lost, 0);
	assert_null(o.away);
	offcpu__free(&o);
}

/* Excluded times are subtracted, wherever they are. */
static void test_offcpu_skip(void **state)
{
	static const struct time_range skip[] = {
		{ 10 * MS, 20 * MS },
		{ 15 * MS, 25 * MS },
		{ 40 * MS, 50 * MS },
	};
	struct offcpu o = { .skip = skip, .n_skip = 3 };

	switch_to(&o, 5 * MS, 1, 0, 1, 0);
	switch_to(&o, 30 * MS, 0, 1, 0, 9); /* of 25 ms, 15 are excluded */
	switch_to(&o, 12 * MS, 2, 0, 1, 1);
	switch_to(&o, 22 * MS, 0, 2, 0, 9); /* all is excluded */
	switch_to(&o, 30 * MS, 3, 0, 2, 2);
	assert_int_equal(offcpu__end(&o, 60 * MS), 0);
	assert_int_equal(o.v[0].ns, 10 * MS);
	assert_int_equal(o.v[0].times, 1);
	assert_true(o.n <= 1 || (!o.v[1].ns && !o.v[1].times));
	assert_int_equal(o.v[2].ns, 20 * MS);
	assert_int_equal(o.ns, 30 * MS);
	offcpu__free(&o);
}

/* A recording of tasks lacks their switch-ins, which are events of other tasks. */
static void test_offcpu_of_tasks(void **state)
{
	struct offcpu o = { 0 };

	switch_to(&o, 10 * MS, 1, 7, 1, 0);
	offcpu__ran(&o, 1, 10 * MS + 500); /* still on its way out */
	offcpu__ran(&o, 1, 14 * MS);
	switch_to(&o, 20 * MS, 1, 7, 1, 0);
	assert_int_equal(o.v[0].ns, 4 * MS);
	switch_to(&o, 30 * MS, 1, 7, 1, 0); /* unknown since when it ran */
	assert_int_equal(o.lost, 1);
	assert_int_equal(offcpu__end(&o, 31 * MS), 0);
	assert_int_equal(o.v[0].ns, 5 * MS);
	offcpu__free(&o);
}

/* The stack of a wait comes when the wait has ended. Its clock is read a little later. */
static void test_offcpu_stacks_of_waits(void **state)
{
	struct offcpu o = { 0 };
	uint32_t *stack, left = 0;

	switch_to(&o, 10 * MS, 1, 2, 1, 0);
	assert_null(offcpu__stack_of_wait(&o, 1, 30 * MS, 15 * MS, &left)); /* began at 15 */
	assert_null(offcpu__stack_of_wait(&o, 3, 30 * MS, 20 * MS, &left));
	switch_to(&o, 30 * MS, 2, 1, 2, 0);
	stack = offcpu__stack_of_wait(&o, 1, 30 * MS + 2000, 20 * MS + 1000, &left);
	assert_non_null(stack);
	assert_int_equal(left, 1);
	*stack = 5;
	/* a wait that has not ended */
	stack = offcpu__stack_of_wait(&o, 2, 50 * MS, 20 * MS, &left);
	assert_non_null(stack);
	assert_int_equal(left, 2);
	*stack = 6;
	assert_int_equal(offcpu__end(&o, 50 * MS), 0);
	assert_int_equal(o.v[0].ns, 0);
	assert_int_equal(o.v[5].ns, 20 * MS);
	assert_int_equal(o.v[5].open_ns, 0);
	assert_int_equal(o.v[6].ns, 20 * MS);
	assert_int_equal(o.v[6].open_ns, 20 * MS);
	offcpu__free(&o);
}

static void test_states(void **state)
{
	assert_string_equal(offcpu__state_name(0), "R");
	assert_string_equal(offcpu__state_name(0x100), "R+");
	assert_string_equal(offcpu__state_name(1), "S");
	assert_string_equal(offcpu__state_name(2), "D");
	assert_string_equal(offcpu__state_name(0x80), "I");
	assert_true(offcpu__is_end(0x10));
	assert_false(offcpu__is_end(2));
}

static void test_stacks(void **state)
{
	static const uint32_t ab[] = { 1, 2 }, ba[] = { 2, 1 };
	struct stacks *s;
	uint32_t first, id;

	assert_int_equal(stacks__new(&s), 0);
	assert_int_equal(stacks__id(s, 1, ab, 2, &first), 0);
	assert_int_equal(stacks__id(s, 1, ab, 2, &id), 0);
	assert_int_equal(id, first);
	assert_int_equal(stacks__id(s, 2, ab, 2, &id), 0);
	assert_int_not_equal(id, first);
	assert_int_equal(stacks__id(s, 1, ba, 2, &id), 0);
	assert_int_not_equal(id, first);
	assert_int_equal(stacks__id(s, 1, ab, 1, &id), 0);
	assert_int_equal(stacks__id(s, 1, NULL, 0, &id), 0);
	assert_int_equal(stacks__n(s), 5);
	assert_int_equal(stacks__get(s, first)->functions[1], 2);
	stacks__free(s);
}

/* Two profiles of one event: v[i] has the weight of function i, in samples of period 1 ms. */
static void make_profile(struct profile *p, struct profile_tables *t, struct weight *v, size_t n)
{
	static struct event_profile events[2];
	static size_t used;
	struct event_profile *e = &events[used++ % 2];

	profile__init(p, t);
	p->ns = 2000 * MS;
	*e = (struct event_profile){ .name = "cpu-clock",
				     .clock = true,
				     .callchains = true,
				     .functions = v,
				     .n_functions = n };
	for (size_t i = 0; i < n; i++) {
		v[i].total_samples += v[i].self_samples;
		v[i].self = v[i].self_samples * 1e6;
		v[i].total = v[i].total_samples * 1e6;
		e->samples += v[i].self_samples;
	}
	e->weight = e->samples * 1e6;
	p->events = e;
	p->n_events = 1;
}

static uint32_t function_id(struct profile_tables *t, const char *symbol)
{
	const struct location l = { .module = "app", .symbol = symbol };
	uint32_t id;

	assert_int_equal(functions__id(t->functions, &l, &id), 0);
	return id;
}

static void test_compare(void **state)
{
	/* total_samples has the samples of callees; main calls f and g */
	struct weight va[] = { { .total_samples = 1000 },
			       { .self_samples = 400 },
			       { .self_samples = 600 } };
	struct weight vb[] = { { .total_samples = 1000 },
			       { .self_samples = 800 },
			       { .self_samples = 200 } };
	struct profile_tables t = { 0 };
	struct event_change c;
	struct profile a, b;

	assert_int_equal(profile_tables__init(&t), 0);
	assert_int_equal(function_id(&t, "main"), 0);
	assert_int_equal(function_id(&t, "f"), 1);
	assert_int_equal(function_id(&t, "g"), 2);
	assert_int_equal(function_id(&t, "f"), 1);
	make_profile(&a, &t, va, 3);
	make_profile(&b, &t, vb, 3);
	assert_int_equal(event_change__make(&a, &b, "cpu-clock", CHANGE_BY_SELF, &c), 0);
	assert_int_equal(c.n, 2);	      /* main did not change */
	assert_int_equal(c.v[0].function, 1); /* equal changes: by name */
	assert_float_equal(c.v[0].self.a, 40, 1e-9);
	assert_float_equal(change__by(&c.v[0].self), 40, 1e-9);
	assert_float_equal(change__by(&c.v[1].self), -40, 1e-9);
	assert_float_equal(c.v[0].self_rate.b, 400, 1e-9); /* 800 ms in 2 s */
	assert_float_equal(c.rate.a, 500, 1e-9);
	assert_false(c.v[0].self_noise);
	event_change__free(&c);

	assert_int_equal(event_change__make(&a, &a, "cpu-clock", CHANGE_BY_SELF, &c), 0);
	assert_int_equal(c.n, 0);
	event_change__free(&c);
	profile_tables__free(&t);
}

/* 40 of 100 against 50 of 100 samples may be chance; 400 against 500 of 1000 is not. */
static void test_noise(void **state)
{
	struct weight va[] = { { .self_samples = 40 }, { .self_samples = 60 } };
	struct weight vb[] = { { .self_samples = 50 }, { .self_samples = 50 } };
	struct weight va10[] = { { .self_samples = 400 }, { .self_samples = 600 } };
	struct weight vb10[] = { { .self_samples = 500 }, { .self_samples = 500 } };
	struct profile_tables t = { 0 };
	struct event_change c;
	struct profile a, b;

	assert_int_equal(profile_tables__init(&t), 0);
	function_id(&t, "f");
	function_id(&t, "g");
	make_profile(&a, &t, va, 2);
	make_profile(&b, &t, vb, 2);
	assert_int_equal(event_change__make(&a, &b, "cpu-clock", CHANGE_BY_SELF, &c), 0);
	assert_int_equal(c.n, 2);
	assert_true(c.v[0].self_noise && c.v[1].self_noise);
	event_change__free(&c);
	make_profile(&a, &t, va10, 2);
	make_profile(&b, &t, vb10, 2);
	assert_int_equal(event_change__make(&a, &b, "cpu-clock", CHANGE_BY_SELF, &c), 0);
	assert_false(c.v[0].self_noise || c.v[1].self_noise);
	event_change__free(&c);
	profile_tables__free(&t);
}

static void test_cpu_stacks(void **state)
{
	struct stack_weight wa[] = { { 30e6, 30 }, { 70e6, 70 } };
	struct stack_weight wb[] = { { 0, 0 }, { 900e6, 900 }, { 100e6, 100 } };
	struct event_profile ea = { .name = "cycles", .samples = 100, .weight = 100e6 };
	struct event_profile eb = { .name = "cycles", .samples = 1000, .weight = 1000e6 };
	struct profile a = { .events = &ea, .n_events = 1 }, b = { .events = &eb, .n_events = 1 };
	struct profile none = { 0 };
	struct cpu_change c;

	ea.stacks = wa;
	ea.n_stacks = 2;
	eb.stacks = wb;
	eb.n_stacks = 3;
	assert_int_equal(cpu_change__make(&a, &b, "cycles", &c), 0);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.v[0].stack, 0); /* 30 against 0 percent */
	assert_float_equal(c.v[0].share.a, 30, 1e-9);
	assert_float_equal(c.v[0].share.b, 0, 1e-9);
	assert_false(c.v[0].noise);
	assert_int_equal(c.v[1].stack, 1);
	assert_float_equal(change__by(&c.v[1].share), 20, 1e-9);
	assert_int_equal(c.v[2].stack, 2);
	assert_int_equal(c.samples_b, 1000);
	cpu_change__free(&c);
	assert_int_equal(cpu_change__make(&a, &none, "cycles", &c), 0);
	assert_int_equal(c.n, 2);
	assert_int_equal(c.samples_b, 0);
	cpu_change__free(&c);
}

static void make_file(const char *root, const char *dir, const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/%s", root, dir, name);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void test_recordings(void **state)
{
	char root[] = "/tmp/frbpf-recordings-XXXXXX", command[64], path[128];
	const struct recording_session *s;
	struct recordings r = { 0 };
	struct err err = { 0 };

	assert_non_null(mkdtemp(root));
	assert_int_equal(recordings__find(root, &err, &r), -ENOENT);
	assert_non_null(strstr(err.msg, "no perf.data file"));
	make_file(root, "session-cpu", "perf.data.2026010203125542");
	make_file(root, "session-cpu", "perf.data.2026010203125543");
	make_file(root, "session-cpu", ".tmp-perf.data");
	make_file(root, "other", "perf.data");
	make_file(root, "other", "perf.data.old");
	make_file(root, "other", "perf.database");
	make_file(root, ".", "perf.data");
	snprintf(path, sizeof(path), "%s/session-link", root);
	assert_int_equal(symlink("session-cpu", path), 0);
	assert_int_equal(recordings__find(root, &err, &r), 0);
	assert_int_equal(r.n, 3);
	s = recordings__session(&r, "cpu");
	assert_non_null(s);
	assert_int_equal(s->n_files, 2);
	assert_non_null(strstr(s->files[0], "perf.data.2026010203125542"));
	s = recordings__session(&r, "other");
	assert_non_null(s);
	assert_int_equal(s->n_files, 1);
	assert_non_null(recordings__session(&r, ""));
	recordings__free(&r);

	snprintf(path, sizeof(path), "%s/session-cpu/perf.data.2026010203125542", root);
	assert_int_equal(recordings__find(path, &err, &r), 0);
	assert_int_equal(r.n, 1);
	assert_string_equal(r.v[0].name, "cpu");
	recordings__free(&r);
	snprintf(path, sizeof(path), "%s/nothing", root);
	assert_int_equal(recordings__find(path, &err, &r), -ENOENT);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

/* sched_switch in the format above. */
struct raw_switch {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
	char prev_comm[16];
	int32_t prev_pid, pad;
	int64_t prev_state;
	int32_t next_pid;
} __attribute__((packed));

_Static_assert(offsetof(struct raw_switch, next_pid) == 40, "the format's offset");

#define SWITCH_TYPE 314
#define SWITCH_ID   77
#define LEAVING_ID  78

/* A record by task @tid at @time. It is about task 5. */
static void add_task_record(struct buf *b, uint16_t type, uint16_t misc, uint32_t tid,
			    uint64_t time)
{
	struct record_task task = { .pid = 5, .ppid = 5, .tid = 5 };
	struct record_trailer t = { .pid = tid, .tid = tid, .time = time };
	size_t size = type == PERF_RECORD_SWITCH ? sizeof(task.header) : sizeof(task);

	task.header = (struct perf_event_header){ type, misc, size + sizeof(t) };
	assert_int_equal(buf__add(b, &task, size), 0);
	assert_int_equal(buf__add(b, &t, sizeof(t)), 0);
}

/* A recording with a switch of task 5 at 10 ms, @more records after it, and a trigger at 50 ms. */
static void write_recording(const char *dir, const struct buf *more)
{
	static const struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = PERF_ATTR_SIZE_VER7,
		.config = SWITCH_TYPE,
		.sample_period = 1,
		.sample_type = RECORD_SAMPLE_TYPE | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW,
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST,
		.sample_id_all = 1,
	};
	static const struct perfdata_format of_switch = { "sched", "sched_switch", format,
							  sizeof(format) - 1 };
	static const struct perf_event_attr of_leaving = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER7,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.sample_period = 1,
		.sample_type = RECORD_SAMPLE_TYPE | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW,
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST,
		.sample_id_all = 1,
	};
	static const uint64_t id = SWITCH_ID, leaving_id = LEAVING_ID;
	static const struct raw_switch raw = {
		.type = SWITCH_TYPE, .pid = 5, .prev_comm = "waits", .prev_pid = 5, .prev_state = 1
	};
	const struct perfdata_attr attrs[] = {
		{ &attr, "sched:sched_switch", &id, 1, &of_switch },
		{ &of_leaving, "context-switches", &leaving_id, 1, NULL },
		marker__event(MARKER_TRIGGER),
	};
	const struct marker_trigger trigger = { .rule = "r", .source = "offcpu > 1ms" };
	struct record_sample s = { .id = id, .pid = 5, .tid = 5, .time = 10 * MS };
	struct buf records = { 0 }, mark = { 0 };
	struct perfdata_features features = { .first_sample = 10 * MS, .last_sample = 50 * MS };
	struct host_info *host = NULL;
	struct perfdata_writer *w;
	struct err err = { 0 };
	uint64_t size;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(host_info__collect(&err, &host), 0);
	features.host = host;
	s.raw = &raw;
	s.raw_size = sizeof(raw);
	assert_int_equal(record__add_sample(&records, &s), 0);
	assert_int_equal(buf__add(&records, more->data, more->len), 0);
	assert_int_equal(marker__encode_trigger(&mark, &trigger), 0);
	s.id = marker__id(MARKER_TRIGGER);
	s.time = 50 * MS;
	s.raw = mark.data;
	s.raw_size = mark.len;
	assert_int_equal(record__add_sample(&records, &s), 0);
	assert_int_equal(perfdata__create(fd, ".tmp", attrs, 3, &err, &w), 0);
	for (size_t at = 0; at < records.len;) {
		const struct perf_event_header *h = (void *)(records.data + at);

		assert_int_equal(perfdata__write(w, h, &err), 0);
		at += h->size;
	}
	assert_int_equal(perfdata__finish(w, &features, &err), 0);
	assert_int_equal(perfdata__publish(w, "perf.data", &size, &err), 0);
	perfdata__free(w);
	host_info__free(host);
	buf__free(&records);
	buf__free(&mark);
	close(fd);
}

/* The profile of such a recording. */
static void read_recording(const struct buf *more, struct profile_tables *tables, struct profile *p)
{
	char dir[] = "/tmp/frbpf-profile-XXXXXX", path[64];
	struct err err = { 0 };

	assert_non_null(mkdtemp(dir));
	write_recording(dir, more);
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	assert_int_equal(profile_tables__init(tables), 0);
	profile__init(p, tables);
	if (profile__add_file(p, path, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

/*
 * A wait that was still under way at its trigger lasts until the trigger, though no sample of the
 * task follows.
 */
static void test_wait_until_marker(void **state)
{
	struct profile_tables tables = { 0 };
	struct profile p;

	read_recording(&(struct buf){ 0 }, &tables, &p);
	assert_int_equal(p.offcpu.ns, 40 * MS);
	assert_int_equal(p.offcpu.v[0].open_ns, 40 * MS);
	assert_int_equal(p.ns, 40 * MS);
	assert_int_equal(profile__event(&p, "sched:sched_switch")->samples, 1);
	assert_int_equal(profile__event(&p, "frbpf:trigger")->samples, 0);
	profile__free(&p);
	profile_tables__free(&tables);
}

/*
 * perf's counting events of a switch come after the tracepoint, at any distance. They do not show
 * that the task is back.
 */
static void test_wait_and_leaving(void **state)
{
	const struct record_sample leaving = {
		.id = LEAVING_ID, .pid = 5, .tid = 5, .time = 12 * MS, .raw = "", .raw_size = 1
	};
	struct profile_tables tables = { 0 };
	struct buf more = { 0 };
	struct profile p;

	assert_int_equal(record__add_sample(&more, &leaving), 0);
	read_recording(&more, &tables, &p);
	assert_int_equal(p.offcpu.ns, 40 * MS);
	assert_int_equal(p.offcpu.v[0].open_ns, 40 * MS);
	assert_int_equal(profile__event(&p, "context-switches")->samples, 1);
	profile__free(&p);
	profile_tables__free(&tables);
	buf__free(&more);
}

/* A task whose switch-in was not recorded is back with its next own record. */
static void test_wait_until_record(void **state)
{
	static const struct {
		uint16_t type, misc;
		uint32_t tid;
		bool back;
	} cases[] = {
		{ PERF_RECORD_EXIT, 0, 5, true },
		{ PERF_RECORD_FORK, 0, 5, true }, /* a record of another task about it */
		{ PERF_RECORD_FORK, 0, 6, false },
		{ PERF_RECORD_EXIT, 0, 0, false }, /* made from /proc */
		{ PERF_RECORD_SWITCH, 0, 5, true },
		{ PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, 5, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile_tables tables = { 0 };
		struct buf more = { 0 };
		struct profile p;

		add_task_record(&more, cases[i].type, cases[i].misc, cases[i].tid, 30 * MS);
		read_recording(&more, &tables, &p);
		assert_int_equal(p.offcpu.ns, (cases[i].back ? 20 : 40) * MS);
		assert_int_equal(p.offcpu.v[0].open_ns, cases[i].back ? 0 : 40 * MS);
		profile__free(&p);
		profile_tables__free(&tables);
		buf__free(&more);
	}
}

/* The id of a stack of kernel functions, the innermost first; NULL ends the list. */
static uint32_t stack_of_names(struct profile_tables *t, uint32_t switch_state,
			       const char *const *names)
{
	uint32_t ids[8], n = 0, id;

	for (; names[n]; n++) {
		struct location l = { .module = "[kernel.kallsyms]",
				      .symbol = names[n],
				      .kernel = true };

		assert_int_equal(functions__id(t->functions, &l, &ids[n]), 0);
	}
	assert_int_equal(stacks__id(t->stacks, switch_state, ids, n, &id), 0);
	return id;
}

/* Idle kernel threads are left out. */
static void test_idle_threads(void **state)
{
	static const struct {
		uint32_t state;
		bool idle;
		const char *names[6];
	} cases[] = {
		{ 1,
		  true,
		  { "__schedule", "schedule", "worker_thread", "kthread", "ret_from_fork" } },
		{ 1, true, { "__schedule", "schedule", "kthreadd", "ret_from_fork" } },
		{ 0x80, true, { "__schedule", "schedule", "wait", "rcu_gp_kthread", "kthread" } },
		{ 1, true, { "__schedule", "schedule_timeout", "kswapd", "kthread" } },
		{ 2, false, { "__schedule", "schedule", "worker_thread", "kthread" } },
		{ 0, false, { "__schedule", "schedule", "worker_thread", "kthread" } },
		{ 1, false, { "__schedule", "schedule", "io_schedule", "flush", "worker_thread" } },
		{ 1, false, { "__schedule", "schedule", "do_nanosleep", "do_syscall_64" } },
		{ 1, false, { NULL } },
	};
	struct profile_tables t = { 0 };
	struct offcpu_change c;
	struct profile a, b;

	assert_int_equal(profile_tables__init(&t), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t id = stack_of_names(&t, cases[i].state, cases[i].names);

		profile__init(&a, &t);
		profile__init(&b, &t);
		switch_to(&a.offcpu, 1 * MS, 1, 0, cases[i].state, id);
		switch_to(&a.offcpu, 5 * MS, 0, 1, 0, id);
		assert_int_equal(offcpu__end(&a.offcpu, 5 * MS), 0);
		a.ns = b.ns = 1000 * MS;
		assert_int_equal(offcpu_change__make(&a, &b, &c), 0);
		assert_int_equal(c.n, !cases[i].idle);
		assert_int_equal(c.ns_a, cases[i].idle ? 0 : 4 * MS);
		assert_true((c.idle.a > 0) == cases[i].idle);
		offcpu_change__free(&c);
		profile__free(&a);
		profile__free(&b);
	}
	profile_tables__free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offcpu),
		cmocka_unit_test(test_offcpu_skip),
		cmocka_unit_test(test_cpu_stacks),
		cmocka_unit_test(test_offcpu_of_tasks),
		cmocka_unit_test(test_offcpu_stacks_of_waits),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_recordings),
		cmocka_unit_test(test_wait_until_marker),
		cmocka_unit_test(test_wait_until_record),
		cmocka_unit_test(test_wait_and_leaving),
		cmocka_unit_test(test_idle_threads),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
