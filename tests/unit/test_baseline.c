// SPDX-License-Identifier: GPL-2.0-only
/* Reads baseline files, and compares two series. */
#include <errno.h>
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

#include "bench/against.h"
#include "bench/baseline.h"
#include "bench/bench.h"
#include "common/cleanup.h"

#define MS 1000000ULL
#define N  10

static const struct compare_opts opts = { .tolerance = 0.05, .others_limit = 0.1 };

/* N undisturbed runs: the first takes @wall ms, each further one a little more. */
static struct series make_series(double wall, double cpu)
{
	struct series s = {
		.version = strdup("v1"),
		.host = strdup("h"),
		.kernel = strdup("6.1"),
		.arch = strdup("x86_64"),
		.cpu = strdup("A CPU"),
		.cpus = 2,
		.command = strdup("./b x"),
		.created = 1791000000ULL * 1000000000,
		.n_rules = 1,
		.n_sessions = 1,
	};

	s.rules = calloc(1, sizeof(*s.rules));
	s.rules[0] = (struct series_rule){ strdup("slow"), strdup("syscall:fsync > 1s"), NULL };
	s.sessions = calloc(1, sizeof(*s.sessions));
	s.sessions[0] = (struct series_session){ strdup("cpu"), strdup("-e cycles") };
	for (int i = 0; i < N; i++) {
		struct run_sample *run = series__add(&s);

		run->wall = (wall + i * 0.1) * MS;
		run->cpu = (cpu + i * 0.1) * MS;
		run->switches = 5;
		run->machine.capacity = 2 * run->wall;
		run->probe = (struct machine_probe){ MS, MS, MS };
		run->rules[0].n = 2;
		run->rules[0].sum = 2 * run->wall;
		run->rules[0].max = run->wall;
		run->rules[0].buckets[26] = 2;
	}
	return s;
}

static void test_round_trip(void **state)
{
	struct series s = make_series(100, 80), back = { 0 };
	struct buf a = { 0 }, b = { 0 };
	struct err err = { 0 };

	assert_int_equal(baseline__format(&s, &a), 0);
	assert_int_equal(baseline__parse(a.data, a.len, &err, &back), 0);
	assert_int_equal(back.n_runs, N);
	assert_int_equal(back.runs[3].wall, s.runs[3].wall);
	assert_int_equal(back.runs[3].probe.pages, MS);
	assert_int_equal(back.runs[3].rules[0].n, 2);
	assert_int_equal(back.runs[3].rules[0].buckets[26], 2);
	assert_int_equal(back.created, s.created);
	assert_null(back.rules[0].condition);
	assert_int_equal(series__check_same(&s, &back, &err), 0);
	assert_int_equal(baseline__format(&back, &b), 0);
	assert_string_equal(a.data, b.data);
	buf__free(&a);
	buf__free(&b);
	series__free(&s);
	series__free(&back);
}

/* A valid text in which the first @from is replaced. */
static void check_damaged(const char *from, const char *to, const char *wanted)
{
	struct series s = make_series(100, 80), back = { 0 };
	struct buf a = { 0 }, b = { 0 };
	struct err err = { 0 };
	char *at;

	assert_int_equal(baseline__format(&s, &a), 0);
	at = strstr(a.data, from);
	assert_non_null(at);
	assert_int_equal(
		buf__printf(&b, "%.*s%s%s", (int)(at - a.data), a.data, to, at + strlen(from)), 0);
	assert_int_equal(baseline__parse(b.data, b.len, &err, &back), -EINVAL);
	if (!strstr(err.msg, wanted))
		fail_msg("'%s' has not '%s'", err.msg, wanted);
	assert_int_equal(back.n_runs, 0);
	buf__free(&a);
	buf__free(&b);
	series__free(&s);
}

static void test_damaged(void **state)
{
	check_damaged("{", "[", "damaged: line");
	check_damaged("frbpf-baseline", "other", "not a baseline of frbpf run");
	check_damaged("\"version\": 1", "\"version\": 2", "of another version: 2");
	check_damaged("\"version\": 1", "\"version\": \"1\"", "of another version");
	check_damaged("\"cpus\": 2", "\"cpus\": -2", "cpus: a number from 0");
	check_damaged("\"host\": \"h\"", "\"host\": null", "host: a text");
	check_damaged("\"host\": \"h\"", "\"host\": \"h\\u0000x\"", "damaged");
	check_damaged("\"host\": \"h\"", "\"host\": \"h\", \"host\": \"h\"", "duplicate");
	check_damaged("\"wall_ns\": 100000000", "\"wall_ns\": 0", "runs[0].wall_ns");
	check_damaged("\"wall_ns\": 100000000", "\"wall_ns\": 1e8", "runs[0].wall_ns: a number");
	check_damaged("\"wall_ns\": 100000000", "\"wall_ns\": 9223372036854775807",
		      "runs[0].wall_ns");
	check_damaged("\"wall_ns\": 100000000", "\"wall_ns\": 99999999999999999999",
		      "damaged: line");
	check_damaged("\"cpu_ns\"", "\"cpu\"", "runs[0].cpu_ns");
	check_damaged("26,", "64,", "runs[0].rules[0].log2");
	check_damaged("26,", "-1,", "log2: pairs");
	check_damaged("\"matches_only\": false", "\"matches_only\": 0", "true or false");
	check_damaged("\"rules\": [",
		      "\"rules\": [ {\"name\": \"x\", \"when\": \"y\", \"if\": null},",
		      "runs[0].rules: one for each rule");
	check_damaged("\"runs\": [", "\"runs\": [], \"more\": [", "runs: at least one");
}

static void check_cut(const char *text, size_t len)
{
	struct series back = { 0 };
	struct err err = { 0 };

	assert_int_equal(baseline__parse(text, len, &err, &back), -EINVAL);
	assert_true(err.msg[0]);
}

static void test_cut(void **state)
{
	struct series s = make_series(100, 80);
	struct buf a = { 0 };

	assert_int_equal(baseline__format(&s, &a), 0);
	for (size_t len = 0; len + 2 < a.len; len += 7)
		check_cut(a.data, len);
	check_cut("[]", 2);
	check_cut("null", 4);
	buf__free(&a);
	series__free(&s);
}

static void test_other_rules(void **state)
{
	struct series a = make_series(100, 80), b = make_series(100, 80);
	struct err err = { 0 };

	free(b.rules[0].when);
	b.rules[0].when = strdup("syscall:fsync > 2s");
	assert_int_equal(series__check_same(&a, &b, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "'slow' was `syscall:fsync > 1s`"));
	free(a.rules[0].when);
	a.rules[0].when = strdup("syscall:fsync > 2s");
	b.rules[0].condition = strdup("cpu == 0");
	assert_int_equal(series__check_same(&a, &b, &err), -EINVAL);
	a.rules[0].condition = strdup("cpu == 0");
	assert_int_equal(series__check_same(&a, &b, &err), 0);
	b.n_sessions = 0;
	assert_int_equal(series__check_same(&a, &b, &err), -EINVAL);
	b.n_sessions = 1;
	b.matches_only = true;
	assert_int_equal(series__check_same(&a, &b, &err), -EINVAL);
	series__free(&a);
	series__free(&b);
}

static enum verdict compare(const struct series *a, const struct series *b, const char *why)
{
	struct comparison c;
	enum verdict v;

	assert_int_equal(comparison__make(a, b, &opts, &c), 0);
	v = c.verdict;
	if (why && !strstr(c.why, why))
		fail_msg("'%s' has not '%s'", c.why, why);
	comparison__free(&c);
	return v;
}

static void disturb(struct series *s, size_t n, size_t offset, double share)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t *part = (uint64_t *)((char *)&s->runs[i].machine + offset);

		*part = share * s->runs[i].machine.capacity;
	}
}

#define USE(member) offsetof(struct machine_use, member)

static void test_verdicts(void **state)
{
	struct series base = make_series(100, 80), same = make_series(100.05, 80.05);
	struct series slower = make_series(120, 96), little = make_series(104, 83);

	assert_int_equal(compare(&base, &same, NULL), VERDICT_PASS);
	assert_int_equal(compare(&base, &little, NULL), VERDICT_PASS);
	assert_int_equal(compare(&slower, &base, NULL), VERDICT_PASS);
	assert_int_equal(compare(&base, &slower, "CPU time 1.20"), VERDICT_REGRESSED);

	/* five undisturbed runs are enough, four are not */
	disturb(&slower, 5, USE(others), 0.11);
	assert_int_equal(compare(&base, &slower, NULL), VERDICT_REGRESSED);
	disturb(&slower, 6, USE(others), 0.11);
	assert_int_equal(compare(&base, &slower, "4 of 10"), VERDICT_DISTURBED);
	disturb(&slower, N, USE(others), 0.09);
	assert_int_equal(compare(&base, &slower, NULL), VERDICT_REGRESSED);
	disturb(&slower, N, USE(steal), 0.03);
	assert_int_equal(compare(&base, &slower, NULL), VERDICT_DISTURBED);
	/* 100 %: any share is accepted, even in a run of a few milliseconds */
	disturb(&slower, N, USE(steal), 0.9);
	assert_int_equal(series__quiet_runs(&slower, SERIES_WALL, 0.99), 0);
	assert_int_equal(series__quiet_runs(&slower, SERIES_WALL, 1), N);
	disturb(&slower, N, USE(steal), 0);
	/* throttled by a limit: costs no CPU time */
	disturb(&slower, N, USE(throttled), 0.1);
	assert_int_equal(compare(&base, &slower, "CPU time"), VERDICT_REGRESSED);
	disturb(&same, N, USE(throttled), 0.1);
	assert_int_equal(compare(&base, &same, NULL), VERDICT_DISTURBED);
	/* a disturbed baseline hides a slowdown, and does not invent one */
	disturb(&base, N, USE(others), 0.5);
	assert_int_equal(compare(&base, &little, "record it again"), VERDICT_DISTURBED);
	series__free(&base);
	series__free(&same);
	series__free(&slower);
	series__free(&little);
}

static void test_other_machine(void **state)
{
	struct series base = make_series(100, 80), slower = make_series(120, 96);

	for (size_t i = 0; i < N; i++)
		slower.runs[i].probe.pages = MS * 1.19;
	assert_int_equal(compare(&base, &slower, "touching pages takes 1.19"), VERDICT_DISTURBED);
	for (size_t i = 0; i < N; i++)
		slower.runs[i].probe.pages = MS * 1.04;
	assert_int_equal(compare(&base, &slower, NULL), VERDICT_REGRESSED);
	/* a program that loses its cache slows down more than the memory test shows */
	for (size_t i = 0; i < N; i++)
		slower.runs[i].probe.memory = MS * 1.04;
	assert_int_equal(
		compare(&base, &slower,
			"reading memory shows, a program that uses the caches may take 1.22 times"),
		VERDICT_DISTURBED);
	for (size_t i = 0; i < N; i++)
		slower.runs[i].probe.memory = MS * 1.01;
	assert_int_equal(compare(&base, &slower, NULL), VERDICT_REGRESSED);
	for (size_t i = 0; i < N; i++)
		slower.runs[i].probe.memory = MS;
	/* the baseline was slower: this may hide a slowdown, but does not invent one */
	for (size_t i = 0; i < N; i++)
		base.runs[i].probe.memory = MS * 1.1;
	assert_int_equal(compare(&base, &slower, NULL), VERDICT_REGRESSED);
	assert_int_equal(compare(&base, &base, NULL), VERDICT_PASS);
	assert_int_equal(compare(&slower, &base, NULL), VERDICT_PASS);
	for (size_t i = 0; i < N; i++) {
		slower.runs[i].wall = base.runs[i].wall;
		slower.runs[i].cpu = base.runs[i].cpu;
	}
	assert_int_equal(compare(&base, &slower, "was slower for the baseline, 1.10 times"),
			 VERDICT_DISTURBED);
	free(slower.cpu);
	slower.cpu = strdup("Another");
	assert_int_equal(compare(&base, &slower, "another CPU: Another"), VERDICT_DISTURBED);
	series__free(&slower);
	slower = make_series(120, 96);
	for (size_t i = 0; i < N; i++)
		base.runs[i].probe.memory = MS;
	/* waiting takes no longer on a slower machine */
	for (size_t i = 0; i < N; i++) {
		slower.runs[i].probe.memory = MS * 1.5;
		base.runs[i].cpu /= 100;
		slower.runs[i].cpu /= 100;
	}
	assert_int_equal(compare(&base, &slower, "time 1.20"), VERDICT_REGRESSED);
	for (size_t i = 0; i < N; i++) {
		slower.runs[i].probe.memory = MS;
		base.runs[i].cpu *= 100;
		slower.runs[i].cpu *= 100;
	}
	slower.cpus = 4;
	assert_int_equal(compare(&base, &slower, "4 CPUs, the baseline is of 2"),
			 VERDICT_DISTURBED);
	/* what is not slower needs no explanation */
	base.cpus = 8;
	assert_int_equal(compare(&slower, &base, NULL), VERDICT_PASS);
	series__free(&base);
	series__free(&slower);
}

/* When the runs alternate, a slower machine neither explains nor hides a slowdown. */
static void test_pairs(void **state)
{
	const struct compare_opts paired = { .tolerance = 0.05,
					     .others_limit = 0.1,
					     .paired = true };
	struct series other = make_series(100, 80), this = make_series(120, 96);
	struct comparison c;

	for (size_t i = 0; i < N; i++) { /* a machine that becomes slower all the time */
		other.runs[i].wall *= 1 + i;
		this.runs[i].wall *= 1 + i;
		other.runs[i].probe.memory *= 1 + i;
		this.runs[i].probe.memory *= 3 + 2 * i;
	}
	assert_int_equal(comparison__make(&other, &this, &paired, &c), 0);
	assert_int_equal(c.verdict, VERDICT_REGRESSED);
	assert_non_null(strstr(c.why, "time 1.20 times the other's"));
	comparison__free(&c);
	/* if most pairs are disturbed, the disturbed ones count, too */
	disturb(&this, 6, USE(others), 0.5);
	this.runs[9].wall /= 10;
	assert_int_equal(comparison__make(&other, &this, &paired, &c), 0);
	assert_int_equal(c.quiet_now, 4);
	assert_int_equal(c.metrics[1].ratio.bounded, true);
	assert_int_equal(c.metrics[1].verdict, VERDICT_REGRESSED);
	/* wall times vary too much for a verdict */
	assert_int_equal(c.metrics[0].verdict, VERDICT_DISTURBED);
	comparison__free(&c);
	/* otherwise the disturbed pairs are left out */
	disturb(&this, 6, USE(others), 0);
	disturb(&this, 2, USE(others), 0.5);
	assert_int_equal(comparison__make(&other, &this, &paired, &c), 0);
	assert_int_equal(c.quiet_now, 8);
	assert_int_equal(c.metrics[1].now.n, 8);
	comparison__free(&c);
	assert_int_equal(comparison__make(&this, &other, &paired, &c), 0);
	assert_int_equal(c.verdict, VERDICT_PASS);
	comparison__free(&c);
	series__free(&other);
	series__free(&this);
}

/* Runs are added until the interval is narrow, wherever it lies. */
static void test_enough_pairs(void **state)
{
	const struct compare_opts paired = { .tolerance = 0.05,
					     .others_limit = 0.1,
					     .paired = true };
	struct series other = make_series(100, 80), this = make_series(120, 96);

	assert_true(schedule__enough_pairs(&other, &this, N, &paired));
	assert_false(schedule__enough_pairs(&other, &this, N + 1, &paired));
	this.n_runs--; /* an incomplete pair */
	assert_false(schedule__enough_pairs(&other, &this, N - 1, &paired));
	this.n_runs++;
	/* from 1 / 1.07 to 1.07 is within 8 % on both sides, 1.09 is not */
	for (size_t i = 0; i < N; i++)
		this.runs[i].wall = other.runs[i].wall * (i % 2 ? 1.07 : 1 / 1.07);
	assert_true(schedule__enough_pairs(&other, &this, N, &paired));
	for (size_t i = 0; i < N; i++)
		this.runs[i].wall = other.runs[i].wall * (i % 2 ? 1.09 : 1 / 1.09);
	assert_false(schedule__enough_pairs(&other, &this, N, &paired));
	assert_false(schedule__enough_pairs(&other, &this, N / 2, &paired));
	assert_false(schedule__enough_pairs(&other, &this, 3, &paired));
	/* it has five times as many runs */
	assert_true(schedule__enough_pairs(&other, &this, 2, &paired));
	series__free(&other);
	series__free(&this);
}

static void test_thresholds(void **state)
{
	struct series base = make_series(100, 80), slower = make_series(120, 96);
	struct comparison c;
	uint64_t most = base.runs[N - 1].rules[0].max;

	assert_int_equal(comparison__make(&base, &slower, &opts, &c), 0);
	/*
	 * values grew: 1 % of the baseline's values exceed the threshold; never above the rule's
	 * own
	 */
	assert_true(comparison__threshold(&c, &base, 0, 1000 * MS) < most);
	assert_true(comparison__threshold(&c, &base, 0, 1000 * MS) > 60 * MS);
	assert_int_equal(comparison__threshold(&c, &base, 0, 5 * MS), 5 * MS);
	comparison__free(&c);
	assert_int_equal(comparison__make(&base, &base, &opts, &c), 0);
	assert_int_equal(comparison__threshold(&c, &base, 0, 1000 * MS), most);
	comparison__free(&c);
	for (size_t i = 0; i < N; i++)
		base.runs[i].rules[0] = (struct histogram){ 0 };
	assert_int_equal(comparison__make(&base, &slower, &opts, &c), 0);
	assert_int_equal(comparison__threshold(&c, &base, 0, 7 * MS), 7 * MS);
	comparison__free(&c);
	series__free(&base);
	series__free(&slower);
}

static void check_probe(void)
{
	struct machine *m = machine__open();
	struct prober *prober = prober__open();
	struct machine_probe p = { 0 };
	struct machine_sample sample;

	assert_non_null(m);
	assert_non_null(prober);
	prober__run(prober, &p);
	prober__free(prober);
	assert_true(p.calculation > 1000 && p.memory > 1000 && p.pages > 1000);
	machine__read(m, &sample);
	assert_true(sample.cpus && sample.time && sample.idle);
	machine__free(m);
}

static void test_machine(void **state)
{
	struct machine_sample a = { 0 }, b = { 0 };
	struct machine_use u;

	machine__parse_stat("cpu  10 0 20 300 5 0 1 7 0 0\ncpu0 1 0 0 0\ncpu1 1 0 0 0\nintr 1\n",
			    100, &a);
	assert_int_equal(a.cpus, 2);
	assert_int_equal(a.idle, 3050 * MS);
	assert_int_equal(a.steal, 70 * MS);
	machine__parse_stat("cpux", 100, &b);
	machine__parse_stat("", 100, &b);
	assert_int_equal(b.idle, 0);
	assert_int_equal(
		machine__parse_throttled("usage_usec 5\nnr_throttled 1\nthrottled_usec 77\n"),
		77000);
	assert_int_equal(machine__parse_throttled("usage_usec 5\n"), 0);
	assert_int_equal(
		machine__parse_pressure("some avg10=1.00 avg60=0.00 avg300=0.00 total=12\n"),
		12000);
	assert_int_equal(machine__parse_pressure("full total=3\n"), 0);
	assert_int_equal(machine__parse_pressure(""), 0);

	b = (struct machine_sample){
		.time = 100 * MS, .cpus = 2, .idle = a.idle + 50 * MS, .steal = a.steal + 10 * MS
	};
	u = machine__between(&a, &b, 90 * MS);
	assert_int_equal(u.capacity, 200 * MS);
	assert_int_equal(u.steal, 10 * MS);
	assert_int_equal(u.others, 50 * MS);
	/* idle time is counted in steps of 10 ms: the result is never negative */
	assert_int_equal(machine__between(&a, &b, 900 * MS).others, 0);
	assert_int_equal(machine__between(&b, &a, 0).capacity, 0);
	check_probe();
}

static void test_files(void **state)
{
	struct series s = make_series(100, 80), back = { 0 };
	char dir[] = "/tmp/frbpf-baseline-XXXXXX", path[64];
	struct err err = { 0 };
	struct stat st;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/b", dir);
	assert_int_equal(baseline__read(path, &err, &back), -ENOENT);
	assert_int_equal(baseline__check_writable(path, false, &err), 0);
	assert_int_equal(baseline__write(path, &s, false, &err), 0);
	assert_int_equal(baseline__check_writable(path, false, &err), -EEXIST);
	assert_int_equal(baseline__write(path, &s, false, &err), -EEXIST);
	assert_int_equal(baseline__write(path, &s, true, &err), 0);
	assert_int_equal(baseline__read(path, &err, &back), 0);
	assert_int_equal(back.n_runs, N);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("nowhere", path), 0);
	assert_int_equal(baseline__check_writable(path, true, &err), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(baseline__check_writable("", false, &err), -EINVAL);
	/* no other file is left */
	assert_int_equal(rmdir(dir), 0);
	assert_true(baseline__check_writable(path, false, &err) < 0);
	series__free(&s);
	series__free(&back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_cut),	   cmocka_unit_test(test_other_rules),
		cmocka_unit_test(test_verdicts),   cmocka_unit_test(test_other_machine),
		cmocka_unit_test(test_pairs),	   cmocka_unit_test(test_enough_pairs),
		cmocka_unit_test(test_thresholds), cmocka_unit_test(test_machine),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
