// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of tracepoint filters, compared with the kernel: we refuse nothing that it accepts, and
 * accept nothing that it refuses.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "record/filter_check.h"

/* Filters of sched:sched_switch. */
static const struct {
	const char *filter;
	const char *words; /* of our error; NULL: none */
} rows[] = {
	{ "prev_pid == 1", NULL },
	{ "prev_pid==1", NULL },
	{ " ( prev_pid == 1 ) ", NULL },
	{ "prev_pid != 0x10 && next_pid != -1", NULL },
	{ "prev_pid==1&&next_pid==2||next_prio<100", NULL },
	{ "!(prev_pid == 1)", NULL },
	{ "!(prev_pid == 1 || !(next_pid > 2)) && prev_prio >= 3", NULL },
	{ "prev_comm == \"a b\"", NULL },
	{ "prev_comm == 'a b'", NULL },
	{ "prev_comm == \"(&&\"", NULL },
	{ "prev_comm ~ \"fr*\"", NULL },
	{ "prev_prio & 3", NULL },
	{ "comm == \"x\" || COMM ~ \"y*\"", NULL },
	{ "cpu < 2 && CPU != 1", NULL },
	{ "common_pid != 0 && common_type > 0", NULL },
	{ "(prev_pid == 1) && (next_pid == 2)", NULL },
	{ "no_field == 1", "has no field 'no_field'" },
	{ "prev_pidd == 1", "did you mean 'prev_pid'" },
	{ "prev_pid == 1 && nonsense", "has no field 'nonsense'" },
	{ "prev_pid", "an operator is missing after 'prev_pid'" },
	{ "prev_pid 1", "an operator is missing" },
	{ "prev_pid = 1", "an operator is missing" },
	{ "prev_pid ==", "a value is missing" },
	{ "prev_pid == && next_pid == 1", "a value is missing" },
	{ "(prev_pid == 1", "a ')' is missing" },
	{ "prev_pid == 1)", "a ')' has no '('" },
	{ "((prev_pid == 1) && next_pid == 2", "a ')' is missing" },
	{ "prev_comm > \"a\"", "'prev_comm' is text" },
	{ "prev_comm & 1", "'prev_comm' is text" },
	{ "prev_comm == \"a", "has no closing quote" },
	{ "prev_comm != bash", "'prev_comm' is text: its value needs quotes" },
	{ "prev_pid == x", "'prev_pid' is a number, and 'x' is not one" },
	{ "prev_pid == \"1\"", "'prev_pid' is a number: write its value without quotes" },
};

static void need_tracepoint(struct tracefs **ret, struct tracepoint **ret_tp)
{
	struct err err;

	if (tracefs__open(&err, ret)) {
		print_message("needs tracefs: %s\n", err.msg);
		skip();
	}
	assert_int_equal(tracefs__tracepoint(*ret, "sched", "sched_switch", &err, ret_tp), 0);
}

/* False: refused. */
static bool kernel_takes(const struct tracepoint *tp, const char *filter)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT,
					.size = PERF_ATTR_SIZE_VER5,
					.config = tp->id,
					.disabled = 1 };
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0), r;

	if (fd < 0) {
		print_message("needs root: %s\n", strerror(errno));
		skip();
	}
	r = ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter);
	close(fd);
	return !r;
}

static void test_agrees_with_the_kernel(void **state)
{
	struct tracefs *t;
	struct tracepoint *tp;

	(void)state;
	need_tracepoint(&t, &tp);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		int r = filter_check__run(tp, rows[i].filter, &err);

		if (!!rows[i].words != !!r)
			fail_msg("%s: %d %s", rows[i].filter, r, err.msg);
		if (rows[i].words && !strstr(err.msg, rows[i].words))
			fail_msg("%s: %s", rows[i].filter, err.msg);
		if (kernel_takes(tp, rows[i].filter) != !rows[i].words)
			fail_msg("the kernel has another opinion of: %s", rows[i].filter);
	}
	tracepoint__free(tp);
	tracefs__free(t);
}

/* Syntax that is newer than this check is left to the kernel. */
static void test_left_to_the_kernel(void **state)
{
	static const char *const filters[] = { "prev_pid & CPUS{1-2}", "prev_comm.ustring == \"x\"",
					       "prev_pid.function == schedule", "\"x\" == 1", "" };
	struct tracefs *t;
	struct tracepoint *tp;
	struct err err;

	(void)state;
	need_tracepoint(&t, &tp);
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		assert_int_equal(filter_check__run(tp, filters[i], &err), 0);
	tracepoint__free(tp);
	tracefs__free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agrees_with_the_kernel),
		cmocka_unit_test(test_left_to_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
