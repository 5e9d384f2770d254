// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "plan_fixture.h"
#include "rules/units.h"

static void all_errors_in_one_run(void **state)
{
	struct planned p = plan_text("[session-a]\n"
				     "run = -m 3Q -e cycels -a --overwrite\n"
				     "[session-b]\n"
				     "rnu = -a\n"
				     "[session-c]\n"
				     "run = -e cpu-clok -a --overwrite\n"
				     "[rule-r]\n"
				     "when = runqlat > 20mss\n"
				     "if = comn == \"x\"\n");

	assert_int_equal(p.err, -EINVAL);
	assert_null(p.rs);
	assert_null(p.plan);
	assert_int_equal(p.d.n_errors, 7);
	check_said(&p, "unknown unit (pages", DIAG_ERROR, 2, 10);
	check_said(&p, "(did you mean 'cycles'?)", DIAG_ERROR, 2, 16);
	check_said(&p, "unknown key 'rnu'", DIAG_ERROR, 4, 1);
	check_said(&p, "(did you mean 'cpu-clock'?)", DIAG_ERROR, 6, 10);
	check_said(&p, "(did you mean 'ms'?)", DIAG_ERROR, 8, 18);
	check_said(&p, "unknown field 'comn'", DIAG_ERROR, 9, 6);
	release(&p);
}

/* A word in place of options must be a program, or `evidence`. */
static void a_program_that_is_not_there(void **state)
{
	struct planned p = plan_text("[session-a]\nrun = evidense\n"
				     "[session-b]\nrun = -a --overwrite -- frbpf-no-program\n"
				     "[rule-r]\nwhen = runqlat > 20ms\n");

	assert_int_equal(p.err, -EINVAL);
	assert_int_equal(p.d.n_errors, 2);
	check_said(&p, "(did you mean 'evidence'?)", DIAG_ERROR, 2, 7);
	check_said(&p, "(options begin with '-')", DIAG_ERROR, 4, 25);
	release(&p);
}

static void perfconfig_holds(void **state)
{
	static const char text[] =
		"[new-of-perf]\nwhat = ever\n"
		"[call-graph]\nrecord-mode = dwarf,4096\n"
		"[session-a]\nrun = -e cpu-clock -g --overwrite\n"
		"[session-b]\nrun = -e cpu-clock -g --call-graph fp --overwrite\n";
	char path[] = "/tmp/frbpf-test-plan-XXXXXX.perfconfig";
	struct planned p = plan_file(text, path, strlen(".perfconfig"));

	assert_int_equal(p.err, 0);
	assert_int_equal(p.plan->sessions[0].events->v[0].attr.sample_stack_user, 4096);
	assert_int_equal(p.plan->sessions[1].events->v[0].attr.sample_stack_user, 0);
	release(&p);
	p = plan_text(text);
	assert_int_equal(p.err, -EINVAL); /* in a file of ours it is an error */
	check_said(&p, "unknown section 'new-of-perf'", DIAG_ERROR, 1, 2);
	release(&p);
}

static void throttled_frequency(void **state)
{
	struct planned p = plan_text("[session-a]\n"
				     "run = -e cs -e faults --overwrite\n"
				     "[session-b]\n"
				     "run = -e cs -c 1 --overwrite\n");

	assert_int_equal(p.err, 0);
	check_said(&p, "'cs' at a frequency nearly stops", DIAG_WARNING, 2, 7);
	assert_null(find_diag(&p, "'faults' at a frequency"));
	release(&p);
}

static void software_events(void **state)
{
	static const char said[] = "on some kernels, samples of 'cs' get mixed up if another "
				   "`perf record` records it, too: record sched:sched_switch";
	struct planned p = plan_text("[session-a]\n"
				     "run = -e cpu-clock -e cs -e faults --overwrite\n"
				     "[session-b]\n"
				     "run = -e cpu-clock,task-clock,dummy --overwrite\n"
				     "[session-c]\n"
				     "run = -e alignment-faults --overwrite\n");
	size_t n = 0;

	assert_int_equal(p.err, 0);
	check_said(&p, said, DIAG_WARNING, 2, 23);
	check_said(&p, "samples of 'alignment-faults' get mixed up", DIAG_WARNING, 6, 10);
	for (size_t i = 0; i < p.d.n; i++)
		n += strstr(p.d.v[i].msg, "get mixed up") != NULL;
	assert_int_equal(n, 2); /* once for each of a and c */
	release(&p);
}

static void stack_larger_than_ring(void **state)
{
	struct planned p = plan_text("[session-a]\n"
				     "run = -e cpu-clock --call-graph dwarf -m 64K --overwrite\n"
				     "[session-b]\n"
				     "run = -e cpu-clock --call-graph dwarf -m 128K --overwrite\n");

	assert_int_equal(p.err, 0);
	check_said(&p, "use -m 128K at least", DIAG_WARNING, 2, 7);
	assert_int_equal(p.d.n, 1);
	release(&p);
}

static void dumps_by_size(void **state)
{
	struct planned p = plan_text(
		"[session-a]\n"
		"run = -e cpu-clock -m 128K --overwrite --switch-output=1M -o x -z\n"
		"[session-b]\n"
		"run = -e cpu-clock -m 1M --overwrite --switch-output=1M --switch-max-files 2\n");

	assert_int_equal(p.err, 0);
	check_said(&p, "its rings hold 128K of each CPU", DIAG_WARNING, 2, 7);
	assert_int_equal(p.d.n, 1);
	assert_string_equal(p.plan->sessions[0].output.name, "x");
	assert_int_equal(p.plan->sessions[0].output.compression, 1);
	assert_int_equal(p.plan->sessions[1].output.max_files, 2);
	release(&p);
}

static void warnings(void **state)
{
	struct planned p = plan_text("[daemon]\nmax-memory = 1G\n"
				     "[session-clock]\n"
				     "run = -e cpu-clock -F 4000 -m 64K -a --overwrite\n"
				     "[session-idle]\n"
				     "run = -e cpu-clock -F 1 -m 64K -a --overwrite\n"
				     "[rule-r]\n"
				     "when = runqlat > 20ms\n"
				     "dump = clock\n"
				     "pre = 10ms\n"
				     "post = 1s\n"
				     "cooldown = 500ms\n"
				     "[rule-long]\n"
				     "when = runqlat > 20ms\n"
				     "dump = clock\n"
				     "pre = 1h\n");

	assert_int_equal(p.err, 0);
	check_said(&p, "no rule dumps the session 'idle'", DIAG_WARNING, 5, 10);
	check_said(&p, "never has its beginning", DIAG_WARNING, 10, 7);
	check_said(&p, "use a shorter post", DIAG_WARNING, 11, 8);
	check_said(&p, "shorter than this rule's post", DIAG_WARNING, 12, 12);
	check_said(&p, "pre and post together", DIAG_WARNING, 16, 7);
	check_said(&p, "`frbpf why` cannot tell", DIAG_WARNING, 8, 8);
	assert_int_equal(p.d.n, 6);
	release(&p);
}

/*
 * No hint at `frbpf why`: that needs a rule with a duration, a subject and a dump, and events that
 * were all looked up.
 */
static void no_hint_at_why_where_it_cannot_explain(void **state)
{
	static const char *const rules[] = {
		"[rule-r]\nwhen = signal:signal_generate\n",
		"[rule-r]\nwhen = syscall:openat fails\n",
		"[rule-r]\nwhen = hardirq > 1ms\n",
		"[rule-r]\nwhen = runqlat > 20ms\ndump = none\n",
		"[session-b]\nrun = -e sched:* -a --overwrite\n[rule-r]\nwhen = runqlat > 20ms\n",
	};
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct planned p;

		snprintf(text, sizeof(text),
			 "[daemon]\nmax-memory = 1G\n[session-a]\nrun = -e cpu-clock -m 64K -a "
			 "--overwrite\n%s",
			 rules[i]);
		p = plan_text(text);
		assert_int_equal(p.err, 0);
		assert_null(find_diag(&p, "frbpf why"));
		release(&p);
	}
}

/* With `ring`, -m is the initial size of the rings. */
static void ring_and_size(void **state)
{
	struct planned p =
		plan_text("[session-a]\nrun = -e cs -c 1 -m 64K -a --overwrite\nring = 9s\n"
			  "[session-b]\nrun = -e cpu-clock -F 100 -m 64K -a --overwrite\n"
			  "ring = 1s\n"
			  "[session-c]\nrun = -e cpu-clock -F 4000 -m 64K -a --overwrite\n"
			  "ring = 1s\n");

	assert_int_equal(p.err, 0);
	assert_int_equal(p.d.n_errors, 0);
	assert_int_equal(p.plan->sessions[0].ring_bytes, 65536);
	assert_int_equal(p.plan->sessions[1].ring_bytes, 65536);
	assert_int_equal(p.plan->sessions[2].ring_bytes, 512 << 10); /* 56 bytes each, plus 25 % */
	release(&p);
}

/* Rings that hold less than the duration in the rule. */
static void too_short(void **state)
{
	struct planned p =
		plan_text("[daemon]\nmax-memory = 1G\n"
			  "[session-a]\nrun = -e task-clock -a --overwrite\nring = 2s\n"
			  "[session-b]\nrun = -e cpu-clock -F 4000 -m 64K -a --overwrite\n"
			  "[rule-long]\nwhen = blocked > 10s\ndump = a\n"
			  "[rule-same]\nwhen = blocked > 2s\ndump = a\n"
			  "[rule-pre]\nwhen = blocked > 10ms\ndump = a\npre = 3s\n"
			  "[rule-rate]\nwhen = blocked > 1s\ndump = b\n"
			  "[rule-short]\nwhen = blocked > 1s\ndump = a\n"
			  "[rule-fits]\nwhen = blocked > 10ms\ndump = a\npre = 2s\n"
			  "[rule-hit]\nwhen = oom:mark_victim\n"
			  "[rule-psi]\nwhen = psi:memory some > 3s in 4s\n");

	assert_int_equal(p.err, 0);
	check_said(&p, "'a' should hold 2s: its dumps, which should reach back more than 10s",
		   DIAG_WARNING, 9, 8);
	check_said(&p, "should reach back more than 2s", DIAG_WARNING, 12, 8);
	check_said(&p, "should reach back 3s", DIAG_WARNING, 17, 7);
	check_said(&p, "the rings of session 'b'", DIAG_WARNING, 19, 8);
	check_said(&p, "`frbpf why` cannot tell", DIAG_WARNING, 9, 8);
	assert_int_equal(p.d.n, 5);
	release(&p);
}

#define EVENTS_PER_S 10000 /* of a busy CPU */
#define EVENT_BYTES  100
#define CHAIN_BYTES  300

/* The minimum time, ns, that its rings hold on a busy CPU. */
static uint64_t holds(const struct planned *p, size_t session)
{
	const struct session_plan *s = &p->plan->sessions[session];
	const struct session_conf *conf = &p->rs->sessions[session];
	uint64_t bytes = EVENT_BYTES + (strstr(conf->run, " -g ") ? CHAIN_BYTES : 0);

	if (conf->ring)
		return conf->ring;
	return s->window_least ?: s->ring_bytes * NSEC_PER_SEC / (EVENTS_PER_S * bytes);
}

/* The rings of the shipped rules files hold more than the longest time of their rules. */
static void shipped_files(void **state)
{
	glob_t files;

	assert_int_equal(glob("configs/*.conf", 0, NULL, &files), 0);
	for (size_t f = 0; f < files.gl_pathc; f++) {
		struct planned p = { 0 };

		p.err = plan__check_partly(files.gl_pathv[f], &p.d, &p.rs, &p.plan);
		assert_int_equal(p.err, 0);
		assert_null(find_diag(&p, "will be short"));
		assert_null(find_diag(&p, "frbpf why"));
		for (size_t i = 0; i < p.rs->n_rules; i++) {
			const struct rule_conf *r = &p.rs->rules[i];

			for (size_t k = 0; k < r->n_sessions && r->when.source != FRBPF_SOURCE_PSI;
			     k++) {
				if (holds(&p, r->sessions[k]) <= r->when.threshold)
					fail_msg("%s: rule %s, session %s", files.gl_pathv[f],
						 r->name, p.rs->sessions[r->sessions[k]].name);
			}
		}
		release(&p);
	}
	globfree(&files);
}

/* Explicit settings get no warning, and neither has the default to dump every session. */
static void no_warnings(void **state)
{
	struct planned p =
		plan_text("[daemon]\nmax-memory = 1G\n"
			  "[session-a]\nrun = -e cpu-clock -F 99 -m 64K -a --overwrite\n"
			  "[session-b]\nrun = -e sched:sched_switch -m 64K -a --overwrite\n"
			  "[rule-r]\nwhen = runqlat > 20ms\npre = 20ms\ncooldown = 0\n"
			  "[rule-s]\nwhen = runqlat > 20ms\ncooldown = 1s\npost = 1s\n");

	assert_int_equal(p.err, 0);
	assert_int_equal(p.d.n, 0);
	release(&p);
	p = plan_text("[daemon]\nmax-memory = 1G\n"
		      "[session-a]\nrun = -e cpu-clock -F 99 -m 64K -a --overwrite\n");
	assert_int_equal(p.d.n, 0);
	release(&p);
}

static void memory(void **state)
{
	const char *sessions = "[session-a]\nrun = -e cpu-clock -m 1M -a --overwrite\n"
			       "[session-b]\nrun = -e cpu-clock -m 2M -a --overwrite\n";
	char text[512], sum[64];
	struct planned p;
	uint64_t sideband;
	size_t n_cpus;

	snprintf(text, sizeof(text), "%s[daemon]\nmax-memory = 64G\n", sessions);
	p = plan_text(text);
	assert_int_equal(p.err, 0);
	assert_int_equal(p.d.n, 0);
	n_cpus = p.plan->n_cpus;
	sideband = p.plan->sideband_memory;
	assert_true(sideband >= (uint64_t)n_cpus << 21);
	assert_int_equal(p.plan->memory, sideband + ((uint64_t)n_cpus * 6 << 20));
	release(&p);

	snprintf(text, sizeof(text), "%s[daemon]\nmax-memory = %zuK\n", sessions,
		 (n_cpus * 7 << 10) + (sideband >> 10));
	p = plan_text(text);
	assert_int_equal(p.err, 0);
	check_said(&p, "more than half of max-memory", DIAG_WARNING, 6, 14);
	release(&p);

	/* the error has the sum and its parts */
	snprintf(text, sizeof(text), "%s[daemon]\nmax-memory = %zuK\n", sessions,
		 (n_cpus * 6 << 10) + (sideband >> 10) - 1);
	p = plan_text(text);
	assert_int_equal(p.err, -EINVAL);
	snprintf(sum, sizeof(sum), "need %zuM of memory on %zu CPUs", n_cpus * 6, n_cpus);
	check_said(&p, sum, DIAG_ERROR, 6, 14);
	snprintf(sum, sizeof(sum), "a %zuM + b %zuM", n_cpus * 2, n_cpus * 4);
	check_said(&p, sum, DIAG_ERROR, 6, 14);
	release(&p);
}

static void windows(void **state)
{
	struct planned p =
		plan_text("[daemon]\nmax-memory = 1G\n"
			  "[session-flat]\nrun = -e cpu-clock -F 100 -m 64K -a --overwrite\n"
			  "[session-deep]\nrun = -e cpu-clock -F 100 -g -m 64K -a --overwrite\n"
			  "[session-period]\nrun = -e cpu-clock -c 9 -m 64K -a --overwrite\n"
			  "[session-tp]\nrun = -e sched:sched_switch -m 64K -a --overwrite\n");
	const struct session_plan *s;

	assert_int_equal(p.err, 0);
	s = p.plan->sessions;
	/* 56 bytes: a header and id, ip, pid and tid, time, cpu, period */
	assert_int_equal(s[0].window_least, 65536 * NSEC_PER_SEC / (100 * 56));
	assert_int_equal(s[0].window_most, s[0].window_least);
	assert_int_equal(s[1].window_most, 65536 * NSEC_PER_SEC / (100 * 64));
	assert_true(s[1].window_least < s[1].window_most);
	assert_int_equal(s[2].window_most, 0);
	assert_int_equal(s[3].window_most, 0);
	assert_int_equal(s[3].events->left_out, 1);
	release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_errors_in_one_run),
		cmocka_unit_test(warnings),
		cmocka_unit_test(no_hint_at_why_where_it_cannot_explain),
		cmocka_unit_test(a_program_that_is_not_there),
		cmocka_unit_test(perfconfig_holds),
		cmocka_unit_test(throttled_frequency),
		cmocka_unit_test(software_events),
		cmocka_unit_test(stack_larger_than_ring),
		cmocka_unit_test(dumps_by_size),
		cmocka_unit_test(no_warnings),
		cmocka_unit_test(ring_and_size),
		cmocka_unit_test(too_short),
		cmocka_unit_test(shipped_files),
		cmocka_unit_test(memory),
		cmocka_unit_test(windows),
	};

	return cmocka_run_group_tests_name("plan", tests, start_reader, stop_reader);
}
