// SPDX-License-Identifier: GPL-2.0-only
/* The command line of frbpf run. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/run_args.h"
#include "common/cleanup.h"

#define WORDS_MAX 32

static const struct command command = {
	.name = "run", .usage = "", .summary = "", .help = "", .no_base = true
};

/* Messages are discarded. */
static int silence(void)
{
	int saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stderr);
	dup2(null, STDERR_FILENO);
	close(null);
	return saved;
}

static bool parse_as(const char *name, const char *const *words, struct bench_opts *ret,
		     int *ret_status)
{
	char *argv[WORDS_MAX + 2] = { (char *)name };
	int argc = 1, saved = silence();
	bool good;

	while (words[argc - 1]) {
		argv[argc] = (char *)words[argc - 1];
		argc++;
	}
	optind = 0; /* restarts getopt() */
	if (strcmp(name, "run") == 0)
		good = run_args__parse(&command, argc, argv, &ret->run, ret_status);
	else
		good = bench_args__parse(&command, argc, argv, ret, ret_status);
	/* argv is freed soon: the tests look at its first word only */
	if (ret->run.command)
		ret->run.command = (char *const *)ret->run.command[0];
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	return good;
}

static bool parse(const char *const *words, struct run_opts *ret, int *ret_status)
{
	struct bench_opts opts;
	bool good = parse_as("run", words, &opts, ret_status);

	*ret = opts.run;
	return good;
}

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void test_all_options(void **state)
{
	struct run_opts o;
	int status;

	assert_true(parse(ARGS("--rules", "r", "--when", "a > 1s", "--when", "b > 2s", "--if", "x",
			       "--session", "-e x", "--session", "-e y", "--for", "2s", "--dumps",
			       "3", "-o", "d", "--exit-code", "9", "--optional", "--user=joe",
			       "--last-window", "--matches-only", "--log", "l", "--", "cmd", "-a"),
			  &o, &status));
	assert_string_equal(o.rules, "r");
	assert_int_equal(o.n_whens, 2);
	assert_null(o.whens[0].condition);
	assert_string_equal(o.whens[1].when, "b > 2s");
	assert_string_equal(o.whens[1].condition, "x");
	assert_int_equal(o.n_sessions, 2);
	assert_int_equal(o.for_ns, 2000000000);
	assert_int_equal(o.max_dumps, 3);
	assert_string_equal(o.out, "d");
	assert_int_equal(o.exit_code, 9);
	assert_true(o.optional && o.as_user && o.last_window && o.matches_only);
	assert_string_equal(o.user, "joe");
	assert_string_equal(o.log, "l");
	assert_int_equal(o.scope, RUN_TREE);
	assert_string_equal((const char *)o.command, "cmd");
	run_args__free(&o);
}

static void test_bench(void **state)
{
	struct bench_opts o;
	int status;

	assert_true(parse_as("bench",
			     ARGS("--repeat", "20", "--baseline", "a", "--save-baseline", "b",
				  "--force", "--strict", "--tolerance", "7.5%", "--others-limit",
				  "100%", "--when", "a > 1s", "cmd"),
			     &o, &status));
	assert_int_equal(o.repeat, 20);
	assert_string_equal(o.baseline, "a");
	assert_string_equal(o.save_baseline, "b");
	assert_true(o.force && o.strict);
	assert_true(o.tolerance > 0.0749 && o.tolerance < 0.0751);
	assert_true(o.others_limit > 0.999 && o.others_limit < 1.001);
	assert_int_equal(o.run.n_whens, 1);
	bench_args__free(&o);
	assert_true(parse_as("bench", ARGS("--against", "./old 'a b'", "cmd"), &o, &status));
	assert_int_equal(o.repeat, 0);
	assert_string_equal(o.against[1], "a b");
	assert_null(o.against[2]);
	assert_true(o.tolerance > 0.0499 && o.tolerance < 0.0501);
	assert_true(o.others_limit > 0.0999 && o.others_limit < 0.1001);
	bench_args__free(&o);
}

static void test_thresholds(void **state)
{
	struct run_opts o;
	int status;

	assert_true(parse(ARGS("--threshold", "a=5ms", "--threshold=b=1ns", "--quiet",
			       "--last-window=no", "cmd"),
			  &o, &status));
	assert_int_equal(o.n_thresholds, 2);
	assert_string_equal(o.thresholds[0].rule, "a");
	assert_int_equal(o.thresholds[0].ns, 5000000);
	assert_int_equal(o.thresholds[1].ns, 1);
	assert_true(o.quiet && o.no_last_window && !o.last_window);
	run_args__free(&o);
}

static void test_defaults(void **state)
{
	struct run_opts o;
	int status;

	assert_true(parse(ARGS("cmd", "--for", "never looked at"), &o, &status));
	assert_int_equal(o.exit_code, 2);
	assert_int_equal(o.scope, RUN_TREE);
	assert_int_equal(o.for_ns, 0);
	assert_null(o.out);
	assert_false(o.as_user);
	assert_string_equal((const char *)o.command, "cmd");
	run_args__free(&o);
	assert_true(parse(ARGS("-p", "12", "--user", "--", "cmd"), &o, &status));
	assert_int_equal(o.scope, RUN_PID);
	assert_int_equal(o.pid, 12);
	assert_true(o.as_user);
	assert_null(o.user);
	run_args__free(&o);
	assert_true(parse(ARGS("--cgroup", "/x"), &o, &status));
	assert_int_equal(o.scope, RUN_CGROUP);
	assert_null(o.command);
	run_args__free(&o);
}

static void check_bad(const char *name, const char *const (*lines)[6], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct bench_opts o;
		int status = -1;

		if (parse_as(name, lines[i], &o, &status))
			fail_msg("%s: line %zu is taken", name, i);
		assert_int_equal(status, 125);
		if (strcmp(name, "run") == 0)
			run_args__free(&o.run);
		else
			bench_args__free(&o);
	}
}

static void test_bad(void **state)
{
	static const char *const lines[][6] = {
		{ "--for", "1s" },
		{ "--if", "x", "--", "cmd" },
		{ "--when", "a", "--if", "x", "--if", "y" },
		{ "-a", "-p", "1" },
		{ "-a", "-a" },
		{ "-p", "0" },
		{ "-p", "x" },
		{ "-p", "99999999999" },
		{ "--for", "0s", "cmd" },
		{ "--for", "5", "cmd" },
		{ "--dumps", "0", "cmd" },
		{ "--dumps", "-1", "cmd" },
		{ "--exit-code", "256", "cmd" },
		{ "--exit-code", "", "cmd" },
		{ "-a", "--user" },
		{ "-a", "--optional" },
		{ "--nonsense", "cmd" },
		{ "--repeat", "5", "cmd" },
		{ "--against", "a", "cmd" },
		{ "--tolerance", "5%", "cmd" },
		{ "--threshold", "5ms", "cmd" },
		{ "--threshold", "a=5", "cmd" },
		{ "--last-window=yes", "cmd" },
		{ "-o" },
	};

	check_bad("run", lines, ARRAY_SIZE(lines));
}

static void test_bad_bench(void **state)
{
	static const char *const lines[][6] = {
		{ "--repeat", "0", "cmd" },
		{ "--repeat", "1001", "cmd" },
		{ "--repeat", "5" },
		{ "-a", "--repeat", "5", "cmd" },
		{ "--repeat", "5", "--dumps", "1", "cmd" },
		{ "--repeat", "5", "--threshold", "a=5ms", "cmd" },
		{ "cmd" },
		{ "--against", "a", "--against", "b", "cmd" },
		{ "--against", "'a", "cmd" },
		{ "--repeat", "4", "--baseline", "f", "cmd" },
		{ "--force", "cmd" },
		{ "--force", "--baseline", "f", "cmd" },
		{ "--strict", "--save-baseline", "f", "cmd" },
		{ "--baseline", "f", "--tolerance", "5", "cmd" },
		{ "--baseline", "f", "--tolerance", "-5%", "cmd" },
		{ "--baseline", "f", "--tolerance", "nan%", "cmd" },
		{ "--baseline", "f", "--tolerance", "0x5%", "cmd" },
		{ "--baseline", "f", "--tolerance", "1001%", "cmd" },
		{ "--baseline", "f", "--others-limit", "101%", "cmd" },
		{ "--baseline", "f", "--others-limit", "%", "cmd" },
	};

	check_bad("bench", lines, ARRAY_SIZE(lines));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_options), cmocka_unit_test(test_bench),
		cmocka_unit_test(test_thresholds),  cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_bad),	    cmocka_unit_test(test_bad_bench),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
