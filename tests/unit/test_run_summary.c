// SPDX-License-Identifier: GPL-2.0-only
/* The summary of a run, as a bench reads it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/bench_report.h"
#include "common/cleanup.h"
#include "run/report/report.h"

static char directory[] = "/tmp/frbpf-summary.XXXXXX";

static struct run_rule rule = {
	.name = "slow",
	.when = "runqlat > 1ms",
	.threshold = 1000000,
	.state = { .matched = 2, .fired = 1 },
	.has_values = true,
	.values = { .n = 3, .max = 4000, .sum = 5001, .buckets = { 1, [11] = 2 } }
};

static struct outcome ended_run(const struct run_opts *opts)
{
	return (struct outcome){ .opts = opts,
				 .recorded = true,
				 .command_ended = true,
				 .rules = &rule,
				 .n_rules = 1,
				 .has_cost = true,
				 .cost = { .wall = 1000,
					   .cpu = 900,
					   .switches = 3,
					   .preempted = 1,
					   .machine = {
						   .capacity = 2000, .others = 100, .hot = 7 } } };
}

static void write_summary(const char *text)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/summary.json", directory);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int read_summary(struct run_summary *ret)
{
	int dir = open(directory, O_PATH | O_CLOEXEC), code;
	struct err err = { 0 };

	code = run_summary__read(dir, &err, ret);
	assert_int_equal(!code, !err.msg[0]);
	close(dir);
	return code;
}

static void make_series(struct series *s, const char *name)
{
	*s = (struct series){ .rules = calloc(1, sizeof(*s->rules)), .n_rules = 1 };
	s->rules[0].name = strdup(name);
	s->rules[0].when = strdup("x");
}

static void test_round_trip(void **state)
{
	static char *const command[] = { "cmd", NULL };
	struct run_opts opts = { .command = command };
	struct outcome o = ended_run(&opts);
	struct bench_result result = { .command = command, .recorded = true };
	struct run_summary s = { 0 };
	struct series to, other;
	struct buf b = { 0 };

	assert_int_equal(report_json(&o, &b), 0);
	write_summary(b.data);
	assert_int_equal(read_summary(&s), 0);
	assert_true(s.recorded && s.command_ended && !s.status);
	make_series(&to, "slow");
	assert_int_equal(run_summary__sample(&s, &to, NULL), 0);
	assert_int_equal(to.n_runs, 1);
	assert_int_equal(to.runs[0].wall, 1000);
	assert_int_equal(to.runs[0].cpu, 900);
	assert_int_equal(to.runs[0].machine.hot, 7);
	assert_int_equal(to.runs[0].machine.others, 100);
	assert_memory_equal(&to.runs[0].rules[0], &rule.values, sizeof(rule.values));
	make_series(&other, "another");
	assert_int_equal(run_summary__sample(&s, &other, NULL), -EINVAL);

	assert_int_equal(bench_result__add(&result, &s, 1, false), 0);
	assert_int_equal(bench_result__add(&result, &s, 2, false), 0);
	assert_int_equal(bench_result__add(&result, &s, 3, true), 0); /* only its incidents count */
	assert_int_equal(result.rules[0].matched, 4);
	assert_int_equal(result.rules[0].values.sum, 10002);
	assert_int_equal(result.n_runs, 2);
	assert_true(bench_result__fired(&result));
	bench_result__free(&result);
	series__free(&to);
	series__free(&other);
	run_summary__free(&s);
	buf__free(&b);
}

/* A run did not end well if a signal ended it, or if it was not recorded. */
static void test_ends(void **state)
{
	static char *const command[] = { "cmd", NULL };
	struct run_opts opts = { .command = command };
	struct outcome o = ended_run(&opts);
	struct run_summary s = { 0 };
	struct buf b = { 0 };

	o.command_status = 2; /* SIGINT */
	assert_int_equal(report_json(&o, &b), 0);
	write_summary(b.data);
	assert_int_equal(read_summary(&s), 0);
	assert_false(s.command_ended);
	assert_int_equal(s.signal, 2);
	assert_int_equal(s.status, 130);
	run_summary__free(&s);
	b.len = 0;
	o = (struct outcome){ .opts = &opts, .reason = "no rights", .command_ended = true };
	assert_int_equal(report_json(&o, &b), 0);
	write_summary(b.data);
	assert_int_equal(read_summary(&s), 0);
	assert_false(s.recorded);
	assert_string_equal(s.reason, "no rights");
	run_summary__free(&s);
	buf__free(&b);
}

static void test_damaged(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{",
		"{\"command\": 1, \"rules\": [], \"incidents\": []}",
		"{\"command\": {}, \"rules\": {}, \"incidents\": []}",
		"{\"command\": {}, \"rules\": []}",
	};
	struct run_summary s = { 0 };
	struct series to;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		write_summary(texts[i]);
		assert_int_equal(read_summary(&s), -EINVAL);
		assert_null(s.root);
	}
	/* malformed numbers, and buckets beyond the last */
	write_summary(
		"{\"command\": {}, \"incidents\": [], \"cost\": {\"wall_ns\": -5}, \"rules\": "
		"[{\"name\": \"slow\", \"values\": {\"n\": \"x\", \"buckets\": "
		"[{\"from_ns\": 9223372036854775807, \"n\": 1}, 7]}}]}");
	assert_int_equal(read_summary(&s), 0);
	make_series(&to, "slow");
	assert_int_equal(run_summary__sample(&s, &to, NULL), 0);
	assert_int_equal(to.runs[0].wall, 0);
	series__free(&to);
	run_summary__free(&s);
}

static int make_summary_dir(void **state)
{
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_summary_dir(void **state)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/summary.json", directory);
	unlink(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, make_summary_dir, remove_summary_dir);
}
