// SPDX-License-Identifier: GPL-2.0-only
/* What sources would have measured, computed from recordings made byte by byte. */
#include <stdlib.h>

#include "analyse/retrace/retrace.h"
#include "perfdata/tracing_data.h"
#include "perf_file_fixture.h"

#define MS	  1000000ULL
#define EVENTS	  8
#define FIELDS	  8
#define RAW_TYPE  (OUR_TYPE | PERF_SAMPLE_RAW)
#define PREEMPTED 0x100

enum { SWITCH, WAKEUP, ENTER, EXIT, BEGIN, END, RQ, DONE };

/* Every field is a number of 8 bytes. */
static const struct {
	const char *system, *name;
	const char *fields[FIELDS];
} kinds[EVENTS] = {
	[SWITCH] = { "sched", "sched_switch", { "prev_pid", "prev_state", "next_pid" } },
	[WAKEUP] = { "sched", "sched_wakeup", { "pid" } },
	[ENTER] = { "raw_syscalls", "sys_enter", { "id" } },
	[EXIT] = { "raw_syscalls", "sys_exit", { "id", "ret" } },
	[BEGIN] = { "test", "begin", { "key", "x" } },
	[END] = { "test", "end", { "key", "y" } },
	[RQ] = { "block", "block_rq_issue", { "dev", "sector", "nr_sector" } },
	[DONE] = { "block", "block_rq_complete", { "dev", "sector", "nr_sector" } },
};

struct recording {
	struct file f;
	struct perf_event_attr attrs[EVENTS];
	char formats[EVENTS][1024];
};

static void describe(int kind, char *to, size_t size)
{
	size_t len = snprintf(to, size,
			      "name: %s\nID: %d\nformat:\n"
			      "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
			      kinds[kind].name, 100 + kind);

	for (int i = 0; i < FIELDS && kinds[kind].fields[i]; i++)
		len += snprintf(to + len, size - len,
				"\tfield:long %s;\toffset:%d;\tsize:8;\tsigned:1;\n",
				kinds[kind].fields[i], 8 + 8 * i);
	snprintf(to + len, size - len, "\nprint fmt: \"\"\n");
}

static void begin(struct recording *r)
{
	*r = (struct recording){ 0 };
	for (int i = 0; i < EVENTS; i++) {
		add_attr(&r->f, PERF_TYPE_TRACEPOINT, 100 + i, RAW_TYPE, 500 + i);
		last_attr(&r->f)->sample_period = 1;
	}
}

static void add_event_record(struct recording *r, int kind, uint64_t time, uint32_t tid, uint64_t a,
			     uint64_t b, uint64_t c)
{
	const struct {
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, res;
		uint64_t period;
		uint32_t raw_size, type;
		uint32_t current;
		uint64_t v[3];
		uint32_t end;
	} __attribute__((packed))
	s = { 500 + kind, 1, 0, tid, time, 1, 0, 1, 36, 0, tid, { a, b, c }, 0 };

	/* the raw data begin with the type: 4 + 4 of the task, 24 of fields, padding to 8 */
	add_record(&r->f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, &s, sizeof(s));
}

static int close_recording(struct recording *r)
{
	struct perfdata_attr attrs[EVENTS] = { 0 };
	struct perfdata_format formats[EVENTS];
	const char *names[EVENTS];
	static char texts[EVENTS][64];
	int fd = memfd_create("perf.data", MFD_CLOEXEC);

	for (int i = 0; i < EVENTS; i++) {
		describe(i, r->formats[i], sizeof(r->formats[i]));
		r->attrs[i] = *(struct perf_event_attr *)(r->f.attrs.data + i * ATTR_ENTRY);
		snprintf(texts[i], sizeof(texts[i]), "%s:%s", kinds[i].system, kinds[i].name);
		names[i] = texts[i];
		formats[i] = (struct perfdata_format){ kinds[i].system, kinds[i].name,
						       r->formats[i], strlen(r->formats[i]) };
		attrs[i] = (struct perfdata_attr){ &r->attrs[i], names[i], NULL, 0, &formats[i] };
	}
	add_event_desc_section(&r->f, names);
	r->f.has[1] = true;
	assert_int_equal(tracing_data__encode(NULL, attrs, EVENTS, &r->f.sections[1]), 0);
	finish(&r->f);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, r->f.whole.data, r->f.whole.len), r->f.whole.len);
	file_free(&r->f);
	return fd;
}

/* ---- what was reported ---- */

struct heard {
	struct retraced v[16];
	size_t n;
	int cuts;
};

static int hear(const struct retraced *m, void *arg)
{
	struct heard *h = arg;

	assert_in_range(h->n, 0, 15);
	h->v[h->n++] = *m;
	return 0;
}

static void hear_cut(void *arg)
{
	((struct heard *)arg)->cuts++;
}

static struct heard ask(const int *fds, size_t n, struct retrace_want w,
			struct retrace_result *told)
{
	struct heard h = { .n = 0 };
	struct retrace *m;
	struct err err = { 0 };
	char path[64];
	size_t id;

	assert_int_equal(retrace__new(&m), 0);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[i]);
		if (retrace__add_file(m, path, &err))
			fail_msg("%s", err.msg);
	}
	w.take = hear;
	w.cut = hear_cut;
	w.arg = &h;
	assert_int_equal(retrace__want(m, &w, &id), 0);
	if (retrace__run(m, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(retrace__lacks(m, id), "");
	*told = *retrace__result(m, id);
	retrace__free(m);
	return h;
}

static uint64_t value_of(const struct retraced *m)
{
	assert_int_equal(m->val[0][FRBPF_FIELD_VALUE][0], m->time - m->begin);
	return m->time - m->begin;
}

static void waits_for_a_cpu(void **state)
{
	struct retrace_want w = { .source = FRBPF_SOURCE_RUNQLAT };
	struct retrace_result told;
	struct recording r;
	struct heard h;
	int fd;

	begin(&r);
	add_event_record(&r, SWITCH, 10 * MS, 1, 1, 1, 2);
	add_event_record(&r, WAKEUP, 11 * MS, 2, 1, 0, 0); /* 1 waits */
	add_event_record(&r, WAKEUP, 12 * MS, 3, 2, 0, 0); /* 2 runs: it does not wait */
	add_event_record(&r, SWITCH, 15 * MS, 2, 2, PREEMPTED | 2,
			 1);				   /* 1 waited 4 ms; 2 is about to sleep */
	add_event_record(&r, WAKEUP, 16 * MS, 1, 2, 0, 0); /* changes nothing */
	add_event_record(&r, SWITCH, 18 * MS, 1, 1, 2, 2); /* 2 waited 3 ms */
	add_event_record(&r, SWITCH, 19 * MS, 2, 2, 0x20, 0); /* 2 ends */
	fd = close_recording(&r);
	h = ask(&fd, 1, w, &told);
	assert_int_equal(h.n, 2);
	assert_int_equal(value_of(&h.v[0]), 4 * MS);
	assert_int_equal(h.v[0].val[0][FRBPF_FIELD_TID][0], 1);
	assert_int_equal(value_of(&h.v[1]), 3 * MS);
	assert_int_equal(told.n, 2);
	assert_int_equal(told.largest, 4 * MS);
	assert_int_equal(told.ns, 9 * MS);
	/* shorter waits are only counted */
	w.least = 3 * MS;
	h = ask(&fd, 1, w, &told);
	assert_int_equal(h.n, 1);
	assert_int_equal(told.n, 2);
	close(fd);
}

static void sleeps_in_d_and_time_off_cpu(void **state)
{
	struct retrace_want w = { .source = FRBPF_SOURCE_BLOCKED };
	struct retrace_result told;
	struct recording r;
	struct heard h;
	int fd;

	begin(&r);
	add_event_record(&r, SWITCH, 10 * MS, 1, 1, 2, 0);
	add_event_record(&r, SWITCH, 11 * MS, 2, 2, 0x80, 0); /* idle; no sleep in D */
	add_event_record(&r, WAKEUP, 14 * MS, 0, 1, 0, 0);
	add_event_record(&r, SWITCH, 16 * MS, 0, 0, 0, 1);
	add_event_record(&r, SWITCH, 17 * MS, 0, 0, 0, 2);
	fd = close_recording(&r);
	h = ask(&fd, 1, w, &told);
	assert_int_equal(h.n, 1);
	assert_int_equal(value_of(&h.v[0]), 4 * MS);
	w.source = FRBPF_SOURCE_OFFCPU;
	h = ask(&fd, 1, w, &told);
	assert_int_equal(h.n, 2);
	assert_int_equal(value_of(&h.v[0]), 6 * MS);
	assert_int_equal(h.v[0].val[0][FRBPF_FIELD_STATE][0], FRBPF_STATE_UNINTERRUPTIBLE);
	assert_int_equal(h.v[1].val[0][FRBPF_FIELD_STATE][0], FRBPF_STATE_IDLE);
	close(fd);
}

/* A waiting task is switched out. Its wait had ended, but its switch-in was not recorded. */
static void wait_without_an_end_is_dropped(void **state)
{
	struct retrace_want w = { .source = FRBPF_SOURCE_RUNQLAT };
	struct retrace_result told;
	struct recording r;
	struct heard h;
	int fd;

	begin(&r);
	add_event_record(&r, WAKEUP, 10 * MS, 9, 1, 0, 0);
	add_event_record(&r, SWITCH, 90 * MS, 1, 1, 1, 0);
	add_event_record(&r, WAKEUP, 91 * MS, 9, 1, 0, 0);
	add_event_record(&r, SWITCH, 92 * MS, 0, 0, 0, 1);
	fd = close_recording(&r);
	h = ask(&fd, 1, w, &told);
	assert_int_equal(h.n, 1);
	assert_int_equal(value_of(&h.v[0]), MS);
	assert_int_equal(told.given_up, 1);
	close(fd);
}

static void what_is_pending(void **state)
{
	struct retrace_want w = { .source = FRBPF_SOURCE_OFFCPU,
				  .least = 5 * MS,
				  .pending = 5 * MS };
	struct retrace_result told;
	struct recording r;
	struct heard h;
	int fd;

	begin(&r);
	add_event_record(&r, SWITCH, 10 * MS, 1, 1, 1, 0);
	add_event_record(&r, SWITCH, 11 * MS, 2, 2, 1, 0);
	add_event_record(&r, SWITCH, 15 * MS, 0, 0, 0, 1);     /* just when it would be pending */
	add_event_record(&r, SWITCH, 16 * MS + 1, 0, 0, 0, 2); /* a nanosecond later than that */
	add_event_record(&r, SWITCH, 17 * MS, 3, 3, 1, 0);
	add_event_record(&r, SWITCH, 18 * MS, 4, 4, 0x20,
			 0); /* dies: off its CPU for good, so it waits for nothing */
	add_event_record(&r, SWITCH, 30 * MS, 5, 5, 1, 0);
	fd = close_recording(&r);
	h = ask(&fd, 1, w, &told);
	assert_int_equal(h.n, 2);
	assert_int_equal(h.v[0].val[0][FRBPF_FIELD_TID][0], 2);
	assert_true(h.v[0].pending);
	assert_int_equal(h.v[0].begin, 11 * MS);
	assert_int_equal(value_of(&h.v[0]), 5 * MS + 1);
	assert_int_equal(h.v[1].val[0][FRBPF_FIELD_TID][0], 3); /* once, however long it lasts */
	close(fd);
}

static void calls_that_a_signal_interrupts(void **state)
{
	struct retrace_want w = { .source = FRBPF_SOURCE_SYSCALL };
	struct retrace_result told;
	struct recording r;
	struct heard h;
	int fd;

	begin(&r);
	add_event_record(&r, ENTER, 10 * MS, 1, 35, 0, 0);
	add_event_record(&r, EXIT, 12 * MS, 1, 35, -516, 0);
	add_event_record(&r, ENTER, 13 * MS, 1, 219, 0, 0); /* restart_syscall */
	add_event_record(&r, EXIT, 20 * MS, 1, 219, 0, 0);
	add_event_record(&r, ENTER, 30 * MS, 1, 35, 0, 0);
	add_event_record(&r, EXIT, 33 * MS, 1, 35, -514, 0);
	add_event_record(&r, ENTER, 40 * MS, 1, 39, 0,
			 0); /* another call: the first ended with EINTR */
	add_event_record(&r, EXIT, 41 * MS, 1, 39, 77, 0);
	add_event_record(&r, EXIT, 42 * MS, 2, 39, 77, 0); /* began before the recording */
	fd = close_recording(&r);
	h = ask(&fd, 1, w, &told);
	close(fd);
#ifdef __x86_64__
	assert_int_equal(h.n, 3);
	assert_int_equal(value_of(&h.v[0]), 10 * MS);
	assert_int_equal(h.v[0].key, 35);
	assert_int_equal(value_of(&h.v[1]), 3 * MS);
	assert_int_equal(h.v[1].error, EINTR);
	assert_int_equal(value_of(&h.v[2]), 1 * MS);
	assert_int_equal(h.v[2].val[0][FRBPF_FIELD_RET][0], 77);
#endif
}

static void spans_by_key(void **state)
{
	struct retrace_want w = { .source = FRBPF_SOURCE_SPAN,
				  .start = "test:begin",
				  .end = "test:end",
				  .start_keys = { "key" },
				  .end_keys = { "key" },
				  .n_keys = 1,
				  .args = { "x", "y" },
				  .arg_at_start = { true } };
	struct retrace_result told;
	struct recording r;
	struct heard h;
	int fd;

	begin(&r);
	add_event_record(&r, BEGIN, 10 * MS, 1, 7, 70, 0);
	add_event_record(&r, BEGIN, 11 * MS, 1, 8, 80, 0);
	add_event_record(&r, BEGIN, 12 * MS, 1, 7, 71,
			 0); /* the last start counts, unless spans are nested */
	add_event_record(&r, END, 15 * MS, 2, 7, 5, 0);
	add_event_record(&r, END, 17 * MS, 2, 7, 6, 0);
	add_event_record(&r, END, 21 * MS, 3, 8, 9, 0);
	fd = close_recording(&r);
	h = ask(&fd, 1, w, &told);
	assert_int_equal(h.n, 2);
	assert_int_equal(value_of(&h.v[0]), 3 * MS);
	assert_int_equal(h.v[0].val[0][FRBPF_FIELD_ARG][0], 71);
	assert_int_equal(h.v[0].val[0][FRBPF_FIELD_ARG + 1][0], 5);
	assert_int_equal(h.v[1].val[0][FRBPF_FIELD_ARG][0], 80);
	assert_int_equal(h.v[1].val[0][FRBPF_FIELD_TID][0], 3);
	w.nested = true;
	h = ask(&fd, 1, w, &told);
	assert_int_equal(h.n, 3);
	assert_int_equal(value_of(&h.v[1]), 7 * MS);
	close(fd);
}

static void requests_that_are_done_in_parts(void **state)
{
	struct retrace_want w = { .source = FRBPF_SOURCE_BLKIO_DEVICE };
	struct retrace_result told;
	struct recording r;
	struct heard h;
	int fd;

	begin(&r);
	add_event_record(&r, RQ, 10 * MS, 1, 8 << 20, 100, 16);
	add_event_record(&r, RQ, 11 * MS, 2, 8 << 20, 500, 8);
	add_event_record(&r, DONE, 12 * MS, 0, 8 << 20, 100, 6);
	add_event_record(&r, DONE, 13 * MS, 0, 8 << 20, 500, 8);
	add_event_record(&r, DONE, 19 * MS, 0, 8 << 20, 106, 10);
	fd = close_recording(&r);
	h = ask(&fd, 1, w, &told);
	assert_int_equal(h.n, 2);
	assert_int_equal(value_of(&h.v[0]), 2 * MS);
	assert_int_equal(h.v[0].val[0][FRBPF_FIELD_TID][0], 2);
	assert_int_equal(value_of(&h.v[1]), 9 * MS);
	assert_int_equal(h.v[1].val[0][FRBPF_BLKIO_SECTOR][0], 100);
	assert_int_equal(h.v[1].val[0][FRBPF_BLKIO_BYTES][0], 16 * 512);
	close(fd);
}

/* Overlapping recordings contain the same events; between two recordings nothing is known. */
static void several_recordings(void **state)
{
	struct retrace_want w = { .source = FRBPF_SOURCE_OFFCPU };
	struct retrace_result told;
	struct recording r;
	struct heard h;
	int fds[3];

	for (int i = 0; i < 2; i++) {
		begin(&r);
		add_event_record(&r, SWITCH, 10 * MS, 1, 1, 1, 0);
		add_event_record(&r, SWITCH, 15 * MS, 0, 0, 0, 1);
		if (i)
			add_event_record(&r, SWITCH, 18 * MS, 1, 1, 1, 0);
		fds[i] = close_recording(&r);
	}
	begin(&r);
	add_event_record(&r, SWITCH, 90 * MS, 0, 0, 0, 1);
	add_event_record(&r, SWITCH, 91 * MS, 1, 1, 1, 0);
	add_event_record(&r, SWITCH, 95 * MS, 0, 0, 0, 1);
	fds[2] = close_recording(&r);
	h = ask(fds, 3, w, &told);
	assert_int_equal(h.n, 2);
	assert_int_equal(value_of(&h.v[0]), 5 * MS);
	assert_int_equal(value_of(&h.v[1]), 4 * MS);
	assert_int_equal(h.cuts, 2);
	assert_int_equal(told.ns, 13 * MS);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

static void sources_that_recordings_lack(void **state)
{
	struct retrace_field field;
	struct retrace_want w = { .source = FRBPF_SOURCE_RECLAIM, .take = hear };
	struct recording r;
	struct retrace *m;
	struct err err = { 0 };
	size_t reclaim, uprobe;
	char path[64];
	int fd;

	begin(&r);
	add_event_record(&r, SWITCH, 10 * MS, 1, 1, 1, 0);
	fd = close_recording(&r);
	assert_int_equal(retrace__new(&m), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(retrace__add_file(m, path, &err), 0);
	assert_int_equal(retrace__find_field(m, "sched:sched_switch", "next.pid", &field), 0);
	assert_string_equal(field.name, "next_pid");
	assert_false(field.is_text);
	assert_int_equal(retrace__find_field(m, "sched:sched_switch", "nobody", &field), -EINVAL);
	assert_int_equal(retrace__find_field(m, "sched:sched_fork", "pid", &field), -ENOENT);
	assert_int_equal(retrace__want(m, &w, &reclaim), 0);
	w.source = FRBPF_SOURCE_UPROBE;
	assert_int_equal(retrace__want(m, &w, &uprobe), 0);
	assert_int_equal(retrace__run(m, &err), 0);
	assert_non_null(
		strstr(retrace__lacks(m, reclaim), "vmscan:mm_vmscan_direct_reclaim_begin"));
	assert_null(retrace__lacks(m, uprobe));
	retrace__free(m);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_for_a_cpu),
		cmocka_unit_test(sleeps_in_d_and_time_off_cpu),
		cmocka_unit_test(wait_without_an_end_is_dropped),
		cmocka_unit_test(what_is_pending),
		cmocka_unit_test(calls_that_a_signal_interrupts),
		cmocka_unit_test(spans_by_key),
		cmocka_unit_test(requests_that_are_done_in_parts),
		cmocka_unit_test(several_recordings),
		cmocka_unit_test(sources_that_recordings_lack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
