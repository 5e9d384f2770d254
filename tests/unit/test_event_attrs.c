// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the attributes that `perf record` makes of a line with ours. The table was measured with
 * perf 6.1 (`perf evlist -v`, the events before the dummy). It omits what all rows share:
 * IP|TID|TIME|CPU and an id in sample_type, read_format ID|LOST, disabled, inherit, sample_id_all.
 * with: others
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "record/event_list.h"
#include "record/privilege.h"

enum { CALLCHAIN = PERF_SAMPLE_CALLCHAIN, PERIOD = PERF_SAMPLE_PERIOD, RAW = PERF_SAMPLE_RAW };

#define SW(line, name, sw_config, period, ...)                                                     \
	{                                                                                          \
		line, name,                                                                        \
		{                                                                                  \
			.type = PERF_TYPE_SOFTWARE, .config = sw_config, .sample_period = period,  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define TP(line, name, period, ...)                                                                \
	{                                                                                          \
		line, name,                                                                        \
		{                                                                                  \
			.type = PERF_TYPE_TRACEPOINT, .sample_period = period, __VA_ARGS__         \
		}                                                                                  \
	}

static const struct row {
	const char *line; /* NULL: the next event of the line above */
	const char *name;
	struct perf_event_attr attr;
} rows[] = {
	SW("-a -e cpu-clock", "cpu-clock", 0, 4000, .sample_type = PERIOD, .freq = 1,
	   .exclude_guest = 1),
	SW("-a -e cpu-clock -c 1000000", "cpu-clock", 0, 1000000, .exclude_guest = 1),
	SW("-a -e cpu-clock -F 99", "cpu-clock", 0, 99, .sample_type = PERIOD, .freq = 1,
	   .exclude_guest = 1),
	SW("-a -e cpu-clock/period=1234567,name=foo/", "foo", 0, 1234567, .exclude_guest = 1),
	SW("-a -e cpu-clock/freq=50,call-graph=fp/", "cpu-clock/freq=50,call-graph=fp/", 0, 50,
	   .sample_type = CALLCHAIN | PERIOD, .freq = 1, .exclude_guest = 1),
	SW("-a -e cpu-clock/max-stack=5/", "cpu-clock/max-stack=5/", 0, 4000,
	   .sample_type = CALLCHAIN | PERIOD, .freq = 1, .exclude_guest = 1, .sample_max_stack = 5),
	SW("-a -e cpu-clock/call-graph=no/ --call-graph fp,16", "cpu-clock/call-graph=no/", 0, 4000,
	   .sample_type = PERIOD, .freq = 1, .exclude_guest = 1, .sample_max_stack = 16),
	SW("-a -g -e cpu-clock", "cpu-clock", 0, 4000, .sample_type = CALLCHAIN | PERIOD, .freq = 1,
	   .exclude_guest = 1),
	/*
	 * as perf -vv prints them before it opens the events: this machine has neither branches nor
	 * a PMU
	 */
	SW("-a -b -e cpu-clock", "cpu-clock", 0, 4000,
	   .sample_type = PERIOD | PERF_SAMPLE_BRANCH_STACK, .freq = 1, .exclude_guest = 1,
	   .branch_sample_type = PERF_SAMPLE_BRANCH_ANY),
	SW("-a -j any_call,u -e cpu-clock", "cpu-clock", 0, 4000,
	   .sample_type = PERIOD | PERF_SAMPLE_BRANCH_STACK, .freq = 1, .exclude_guest = 1,
	   .branch_sample_type = PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER),
	{ "-a -e r1a8",
	  "r1a8",
	  { .type = PERF_TYPE_RAW,
	    .config = 0x1a8,
	    .sample_period = 4000,
	    .sample_type = PERIOD,
	    .freq = 1,
	    .exclude_guest = 1 } },
	SW("-a -e cpu-clock:u", "cpu-clock:u", 0, 4000, .sample_type = PERIOD, .exclude_kernel = 1,
	   .exclude_hv = 1, .freq = 1, .exclude_guest = 1),
	SW("-a -e cpu-clock:k", "cpu-clock:k", 0, 4000, .sample_type = PERIOD, .exclude_user = 1,
	   .exclude_hv = 1, .freq = 1),
	SW("-a -e cpu-clock:uk", "cpu-clock:uk", 0, 4000, .sample_type = PERIOD, .exclude_hv = 1,
	   .freq = 1, .exclude_guest = 1),
	SW("-a -e cpu-clock:h", "cpu-clock:h", 0, 4000, .sample_type = PERIOD, .exclude_user = 1,
	   .exclude_kernel = 1, .freq = 1),
	SW("-a -e cpu-clock:HG", "cpu-clock:HG", 0, 4000, .sample_type = PERIOD, .freq = 1),
	SW("-a -e cpu-clock:G", "cpu-clock:G", 0, 4000, .sample_type = PERIOD, .freq = 1,
	   .exclude_host = 1),
	SW("-a -e cpu-clock:H", "cpu-clock:H", 0, 4000, .sample_type = PERIOD, .freq = 1,
	   .exclude_guest = 1),
	SW("-a -e cpu-clock:D", "cpu-clock:D", 0, 4000, .sample_type = PERIOD, .pinned = 1,
	   .freq = 1),
	SW("-a -e cpu-clock:I", "cpu-clock:I", 0, 4000, .sample_type = PERIOD, .exclude_idle = 1,
	   .freq = 1),
	SW("-a -e cpu-clock:e", "cpu-clock:e", 0, 4000, .sample_type = PERIOD, .exclusive = 1,
	   .freq = 1),
	SW("-a -e cpu-clock:p", "cpu-clock:p", 0, 4000, .sample_type = PERIOD, .freq = 1,
	   .exclude_guest = 1, .precise_ip = 1),
	SW("-a -e cpu-clock:pp", "cpu-clock:pp", 0, 4000, .sample_type = PERIOD, .freq = 1,
	   .exclude_guest = 1, .precise_ip = 2),
	SW("-a -e cpu-clock:ppp", "cpu-clock:ppp", 0, 4000, .sample_type = PERIOD, .freq = 1,
	   .exclude_guest = 1, .precise_ip = 3),
	SW("-a -e cpu-clock:P", "cpu-clock:P", 0, 4000, .sample_type = PERIOD, .freq = 1,
	   .precise_ip = 3),
	SW("-a -e cpu-clock:uH", "cpu-clock:uH", 0, 4000, .sample_type = PERIOD,
	   .exclude_kernel = 1, .exclude_hv = 1, .freq = 1, .exclude_guest = 1),
	SW("-a -e cpu-clock:kp", "cpu-clock:kp", 0, 4000, .sample_type = PERIOD, .exclude_user = 1,
	   .exclude_hv = 1, .freq = 1, .exclude_guest = 1, .precise_ip = 1),
	SW("-a -e cpu-clock:uG", "cpu-clock:uG", 0, 4000, .sample_type = PERIOD,
	   .exclude_kernel = 1, .exclude_hv = 1, .freq = 1, .exclude_host = 1),
	SW("-a -e cpu-clock:Gu", "cpu-clock:Gu", 0, 4000, .sample_type = PERIOD,
	   .exclude_kernel = 1, .exclude_hv = 1, .freq = 1, .exclude_host = 1),
	SW("-a -e cpu-clock:upp", "cpu-clock:upp", 0, 4000, .sample_type = PERIOD,
	   .exclude_kernel = 1, .exclude_hv = 1, .freq = 1, .exclude_guest = 1, .precise_ip = 2),
	SW("-a --call-graph fp,16 -e cpu-clock", "cpu-clock", 0, 4000,
	   .sample_type = CALLCHAIN | PERIOD, .freq = 1, .exclude_guest = 1,
	   .sample_max_stack = 16),
	SW("-a --call-graph fp,1000 -e cpu-clock", "cpu-clock", 0, 4000,
	   .sample_type = CALLCHAIN | PERIOD, .freq = 1, .exclude_guest = 1),
	SW("-a -g --no-call-graph -e cpu-clock", "cpu-clock", 0, 4000, .sample_type = PERIOD,
	   .freq = 1, .exclude_guest = 1),
	SW("-ag -e cpu-clock", "cpu-clock", 0, 4000, .sample_type = CALLCHAIN | PERIOD, .freq = 1,
	   .exclude_guest = 1),
	SW("-ae cpu-clock -c77", "cpu-clock", 0, 77, .exclude_guest = 1),
	SW("-a --overwrite -e cpu-clock", "cpu-clock", 0, 4000, .sample_type = PERIOD, .freq = 1,
	   .exclude_guest = 1),
	SW("-a -e bpf-output", "bpf-output", 0xa, 1, .sample_type = PERIOD | RAW,
	   .exclude_guest = 1),
	SW("-a -e bpf-output -F 99", "bpf-output", 0xa, 99, .sample_type = PERIOD | RAW, .freq = 1,
	   .exclude_guest = 1),
	SW("-a -e bpf-output/period=3/", "bpf-output/period=3/", 0xa, 3, .sample_type = RAW,
	   .exclude_guest = 1),
	SW("-a -e software/config=0/", "software/config=0/", 0, 4000, .sample_type = PERIOD,
	   .freq = 1, .exclude_guest = 1),
	SW("-a -e 1:0", "1:0", 0, 4000, .sample_type = PERIOD, .freq = 1, .exclude_guest = 1),
	SW("-a -e 1:0:u", "1:0:u", 0, 4000, .sample_type = PERIOD, .exclude_kernel = 1,
	   .exclude_hv = 1, .freq = 1, .exclude_guest = 1),
	SW("-a -e 0x1:0x0", "0x1:0x0", 0, 4000, .sample_type = PERIOD, .freq = 1,
	   .exclude_guest = 1),
	SW("-a -e context-switches,cs,faults", "context-switches", 0x3, 4000, .sample_type = PERIOD,
	   .freq = 1, .exclude_guest = 1),
	SW(NULL, "cs", 0x3, 4000, .sample_type = PERIOD, .freq = 1, .exclude_guest = 1),
	SW(NULL, "faults", 0x2, 4000, .sample_type = PERIOD, .freq = 1, .exclude_guest = 1),
	SW("-a -e cpu-clock/freq=50/ -c 100", "cpu-clock/freq=50/", 0, 50, .sample_type = PERIOD,
	   .freq = 1, .exclude_guest = 1),
	SW("-a -e cpu-clock/freq=50,period=60/", "cpu-clock/freq=50,period=60/", 0, 60,
	   .exclude_guest = 1),
	SW("-a -e cpu-clock//u", "cpu-clock//u", 0, 4000, .sample_type = PERIOD,
	   .exclude_kernel = 1, .exclude_hv = 1, .freq = 1, .exclude_guest = 1),
	SW("-a -e cpu-clock/freq=99/u", "cpu-clock/freq=99/u", 0, 99, .sample_type = PERIOD,
	   .exclude_kernel = 1, .exclude_hv = 1, .freq = 1, .exclude_guest = 1),
	SW("-a -e cpu-clock/config=1/", "cpu-clock/config=1/", 0x1, 4000, .sample_type = PERIOD,
	   .freq = 1, .exclude_guest = 1),
	SW("-a -e cpu-clock/call-graph=fp,max-stack=7/ -c 100",
	   "cpu-clock/call-graph=fp,max-stack=7/", 0, 100, .sample_type = CALLCHAIN,
	   .exclude_guest = 1, .sample_max_stack = 7),
	SW("-a -e page-faults -e task-clock:u -F 1000", "page-faults", 0x2, 1000,
	   .sample_type = PERIOD, .freq = 1, .exclude_guest = 1),
	SW(NULL, "task-clock:u", 0x1, 1000, .sample_type = PERIOD, .exclude_kernel = 1,
	   .exclude_hv = 1, .freq = 1, .exclude_guest = 1),
	TP("-a -e sched:sched_switch", "sched:sched_switch", 1, .sample_type = PERIOD | RAW,
	   .exclude_guest = 1),
	TP("-a -e sched:sched_switch -c 10", "sched:sched_switch", 10, .sample_type = PERIOD | RAW,
	   .exclude_guest = 1),
	TP("-a -e sched:sched_switch -F 100", "sched:sched_switch", 100,
	   .sample_type = PERIOD | RAW, .freq = 1, .exclude_guest = 1),
	TP("-a -g -e sched:sched_switch/call-graph=no/", "sched:sched_switch", 1,
	   .sample_type = PERIOD | RAW, .exclude_guest = 1),
	TP("-a -g -e sched:sched_switch/max-stack=3/", "sched:sched_switch", 1,
	   .sample_type = CALLCHAIN | PERIOD | RAW, .exclude_guest = 1, .sample_max_stack = 3),
	TP("-a -e sched:sched_switch:u", "sched:sched_switch", 1, .sample_type = PERIOD | RAW,
	   .exclude_kernel = 1, .exclude_hv = 1, .exclude_guest = 1),
	TP("-a -e sched:sched_switch:k", "sched:sched_switch", 1, .sample_type = PERIOD | RAW,
	   .exclude_user = 1, .exclude_hv = 1),
	TP("-a -e sched:sched_process_f*", "sched:sched_process_fork", 1,
	   .sample_type = PERIOD | RAW, .exclude_guest = 1),
	TP(NULL, "sched:sched_process_free", 1, .sample_type = PERIOD | RAW, .exclude_guest = 1),
	TP("-a -e s*d:sched_swi?ch", "sched:sched_switch", 1, .sample_type = PERIOD | RAW,
	   .exclude_guest = 1),
};

static const size_t n_rows = ARRAY_SIZE(rows);

/* perf's attr of @row, with the differences that event_attr__finish() lists. */
static struct perf_event_attr expected(const struct row *row, uint64_t tracepoint_id)
{
	struct perf_event_attr a = row->attr;

	if (a.type == PERF_TYPE_TRACEPOINT)
		a.config = tracepoint_id;
	a.size = 128;
	a.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			 PERF_SAMPLE_IDENTIFIER;
	a.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	a.disabled = a.inherit = a.sample_id_all = 1;
	a.use_clockid = 1;
	a.clockid = CLOCK_MONOTONIC;
	a.write_backward = 1;
	a.watermark = 1;
	a.wakeup_watermark = UINT32_MAX;
	return a;
}

static struct event_list *resolve(const char *line, struct tracefs *tracefs)
{
	struct source_text *src;
	struct record_opts *opts;
	struct event_list *list = NULL;
	struct diags d = { 0 };
	struct buf text = { 0 };

	assert_int_equal(source_text__from_string("run", line, &src), 0);
	if (record_opts__parse(src, (struct span){ 0, src->len }, 4096, &d, &opts) ||
	    event_list__resolve(opts, src, tracefs, &d, &list)) {
		diags__format(&d, &text);
		fail_msg("%s", text.data);
	}
	record_opts__free(opts);
	diags__free(&d);
	source_text__free(src);
	return list;
}

/* Compare the rows of one line, which begins at rows[i]; returns the first row after them. */
static size_t check_line(size_t i, struct tracefs *tracefs)
{
	struct event_list *list = resolve(rows[i].line, tracefs);
	size_t first = i;

	do {
		const struct event *ev = &list->v[i - first];
		struct perf_event_attr want;

		if (i - first >= list->n)
			fail_msg("%s: only %zu events", rows[first].line, list->n);
		want = expected(&rows[i], ev->tp ? ev->tp->id : 0);
		assert_string_equal(ev->name, rows[i].name);
		if (memcmp(&ev->attr, &want, sizeof(want))) {
			print_message("%s: the attr of %s differs\n", rows[first].line, ev->name);
			assert_memory_equal(&ev->attr, &want, sizeof(want));
		}
	} while (++i < n_rows && !rows[i].line);
	assert_int_equal(list->n, i - first);
	event_list__free(list);
	return i;
}

static void check_rows(bool tracepoints, struct tracefs *tracefs)
{
	size_t i = 0;

	while (i < n_rows) {
		if ((rows[i].attr.type == PERF_TYPE_TRACEPOINT) == tracepoints)
			i = check_line(i, tracefs);
		else
			i++;
	}
}

static void probe_default_frequency(void)
{
	if (sysctl__kernel("perf_event_max_sample_rate", 0) >= 4000)
		return;
	print_message("skipped: probe_default_frequency: the kernel allows less than 4000 Hz\n");
	skip();
}

static void test_events_as_perf(void **state)
{
	probe_default_frequency();
	check_rows(false, NULL);
}

static void test_tracepoints_as_perf(void **state)
{
	struct tracefs *tracefs;
	struct err err;

	probe_default_frequency();
	if (tracefs__open(&err, &tracefs)) {
		print_message("skipped: probe_tracefs: %s\n", err.msg);
		skip();
	}
	check_rows(true, tracefs);
	tracefs__free(tracefs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_as_perf),
		cmocka_unit_test(test_tracepoints_as_perf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
