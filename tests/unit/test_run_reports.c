// SPDX-License-Identifier: GPL-2.0-only
/* The results of a run: exit status, distributions, and texts that others chose in reports. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/cleanup.h"
#include "common/printable.h"
#include "run/findings.h"
#include "run/report/report.h"

#define MS 1000000ULL

/* ---- exit status ---- */

#define EXITED(code)   ((code) << 8)
#define SIGNALLED(sig) (sig)

static void test_exit_status(void **state)
{
	static const struct {
		bool recorded, ended, fires, quiet;
		int status, exec_error, exit_code, wanted;
	} table[] = {
		{ .recorded = true, .ended = true, .wanted = 0, .exit_code = 2 },
		{ .recorded = true, .ended = true, .fires = true, .exit_code = 2, .wanted = 2 },
		{ .recorded = true, .ended = true, .fires = true, .exit_code = 0, .wanted = 0 },
		{ .recorded = true,
		  .ended = true,
		  .fires = true,
		  .quiet = true,
		  .exit_code = 2,
		  .wanted = 0 },
		{ .recorded = true,
		  .ended = true,
		  .fires = true,
		  .status = EXITED(3),
		  .exit_code = 2,
		  .wanted = 3 },
		{ .recorded = true,
		  .ended = true,
		  .fires = true,
		  .status = SIGNALLED(SIGKILL),
		  .exit_code = 2,
		  .wanted = 137 },
		{ .recorded = true,
		  .ended = true,
		  .status = SIGNALLED(SIGSEGV) | 0x80, /* with a core */
		  .exit_code = 2,
		  .wanted = 139 },
		{ .recorded = true, .exec_error = ENOENT, .exit_code = 2, .wanted = 127 },
		{ .recorded = true, .exec_error = EACCES, .exit_code = 2, .wanted = 126 },
		{ .recorded = true, .exec_error = ENOEXEC, .exit_code = 2, .wanted = 126 },
		{ .ended = true, .status = EXITED(5), .exit_code = 2, .wanted = 5 },
		{ .recorded = true, .fires = true, .exit_code = 9, .wanted = 9 }, /* no command */
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct run_opts opts = { .exit_code = table[i].exit_code };
		struct run_rule rules[2] = { { .quiet = false },
					     { .quiet = table[i].quiet,
					       .state.fired = table[i].fires } };
		struct outcome o = { .opts = &opts,
				     .recorded = table[i].recorded,
				     .command_ended = table[i].ended,
				     .command_status = table[i].status,
				     .exec_error = table[i].exec_error,
				     .rules = rules,
				     .n_rules = 2 };

		if (outcome__exit_status(&o) != table[i].wanted)
			fail_msg("line %zu: %d, not %d", i, outcome__exit_status(&o),
				 table[i].wanted);
	}
}

/*
 * A run fails if it has a trigger that is not contradicted. Contradicted triggers do not fail it.
 */
static void test_contradicted(void **state)
{
	struct run_opts opts = { .exit_code = 2 };
	struct run_rule rule = { .state.fired = 2 };
	struct run_trigger t[2] = { { .value = 9, .contradicted = true },
				    { .value = 5, .merged = true } };
	struct run_incident inc = { .triggers = t, .n_triggers = 2 };
	struct outcome o = { .opts = &opts,
			     .recorded = true,
			     .rules = &rule,
			     .n_rules = 1,
			     .incidents = &inc,
			     .n_incidents = 1 };
	const struct run_incident *of;

	outcome__count_contradicted(&o);
	assert_int_equal(rule.contradicted, 1);
	assert_int_equal(outcome__exit_status(&o), 2);
	assert_ptr_equal(outcome__worst(&o, 0, &of), &t[1]);
	t[1].contradicted = true;
	outcome__count_contradicted(&o);
	assert_int_equal(outcome__exit_status(&o), 0);
	assert_null(outcome__worst(&o, 0, &of));
}

/* ---- distributions ---- */

static void add_matches(struct frbpf_rule_state *st, uint64_t value, uint64_t n)
{
	int bucket = value ? 63 - __builtin_clzll(value) : 0;

	st->values[bucket] += n;
	st->matched += n;
	if (value > st->max_value)
		st->max_value = value;
}

static void test_percentiles(void **state)
{
	struct frbpf_rule_state st = { 0 };
	struct histogram h = histogram__of(&st);

	assert_int_equal(histogram__percentile(&h, 50), 0);
	assert_int_equal(histogram__percentile(&h, 100), 0);
	add_matches(&st, 0, 1);
	h = histogram__of(&st);
	assert_int_equal(histogram__percentile(&h, 99), 0);

	st = (struct frbpf_rule_state){ 0 };
	for (uint64_t v = 1; v <= 1000; v++)
		add_matches(&st, v * MS, 1);
	h = histogram__of(&st);
	assert_int_equal(h.n, 1000);
	/* interpolated: uniform values come out nearly right, and always in their power of two */
	assert_in_range(histogram__percentile(&h, 50), 490 * MS, 510 * MS);
	assert_in_range(histogram__percentile(&h, 90), 880 * MS, 920 * MS);
	assert_in_range(histogram__percentile(&h, 99), 980 * MS, 1000 * MS);
	assert_int_equal(histogram__percentile(&h, 100), 1000 * MS);
	assert_true(histogram__percentile(&h, 0) <= 2 * MS);
}

static void test_percentiles_in_order(void **state)
{
	struct frbpf_rule_state st = { 0 };
	uint64_t last = 0;
	struct histogram h;

	add_matches(&st, 3, 10);
	add_matches(&st, 100 * MS, 1);
	add_matches(&st, UINT64_MAX, 1);
	h = histogram__of(&st);
	for (double p = 0; p <= 100; p += 0.5) {
		uint64_t v = histogram__percentile(&h, p);

		assert_true(v >= last && v <= h.max);
		last = v;
	}
	assert_in_range(histogram__percentile(&h, 50), 2, 4);
	assert_in_range(histogram__percentile(&h, 90), 1ULL << 26, 1ULL << 27);
	assert_int_equal(histogram__percentile(&h, 100), UINT64_MAX);
}

/* ---- texts that others chose ---- */

typedef int (*escape_fn)(struct buf *b, const char *s);

static void check_escape(escape_fn fn, const char *s, const char *wanted)
{
	struct buf b = { 0 };

	assert_int_equal(fn(&b, s), 0);
	assert_string_equal(b.data ? b.data : "", wanted);
	buf__free(&b);
}

static void test_xml(void **state)
{
	check_escape(escape__xml, "", "");
	check_escape(escape__xml, "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;");
	check_escape(escape__xml, "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80",
		     "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80");
	check_escape(escape__xml, "\x01\n\t\x7f\x1b[0m",
		     "????"
		     "?[0m");
	check_escape(escape__xml, "]]>", "]]&gt;");
	/*
	 * not UTF-8: isolated, truncated, overlong, surrogates, beyond the last character,
	 * non-characters
	 */
	check_escape(escape__xml, "\x80\xff", "??");
	check_escape(escape__xml, "\xe2\x82", "??");
	check_escape(escape__xml, "\xc0\xaf", "??");
	check_escape(escape__xml, "\xed\xa0\x80", "???");
	check_escape(escape__xml, "\xf4\x90\x80\x80", "????");
	check_escape(escape__xml, "\xef\xbf\xbf", "???");
	/* and marks that move text on a screen */
	check_escape(escape__xml, "\xc2\x9b\xe2\x80\xae", "?????");
}

static void test_markdown(void **state)
{
	check_escape(escape__markdown, "a | b", "a &#124; b");
	check_escape(escape__markdown, "`x` *y* [z](http://q) <img>",
		     "&#96;x&#96; &#42;y&#42; &#91;z&#93;(http&#58;//q) &lt;img&gt;");
	check_escape(escape__markdown, "@all #1\nx", "&#64;all &#35;1?x");
	check_escape(escape__markdown, "syscall:fsync > 5ms", "syscall:fsync &gt; 5ms");
}

static void test_github(void **state)
{
	check_escape(escape__github, "100%\n::error::x\r", "100%25?::error::x?");
	check_escape(escape__github_property, "a:b,c%", "a%3Ab%2Cc%25");
}

static void test_shell(void **state)
{
	check_escape(escape__shell, "/a/b-c.d", "/a/b-c.d");
	check_escape(escape__shell, "", "''");
	check_escape(escape__shell, "a b;c", "'a b;c'");
	check_escape(escape__shell, "it's $x", "'it'\\''s $x'");
	check_escape(escape__shell, "~", "'~'");
}

/* ---- reports ---- */

#define EVIL "</x>\"|`\n::e]\xff"

static const char *const evil_command[] = { "./a b", EVIL, NULL };

/* An outcome in which every text that others can choose is malicious. */
struct sample {
	struct run_opts opts;
	struct run_rule rules[2];
	struct run_trigger triggers[2];
	struct run_file files[2];
	struct run_incident incidents[1];
	struct run_session sessions[1];
	struct run_frame frames[8];
	struct run_stack stacks[4];
	struct run_stack_table tables[3];
	struct outcome o;
};

/* Where tasks waited and ran. Names of their programs are untrusted. */
static void add_tables(struct sample *s)
{
	static const struct run_frame frames[] = {
		{ "__schedule", "[kernel]", true },	 { "schedule", "[kernel]", true },
		{ "futex_wait", "[kernel]", true },	 { "do_syscall_64", "[kernel]", true },
		{ NULL, "lib" EVIL ".so", false },	 { "holds_the_lock", "app", false },
		{ "std::map<a|b>::find", "app", false }, { EVIL, "app", false },
	};

	memcpy(s->frames, frames, sizeof(frames));
	s->stacks[0] = (struct run_stack){ .here = 61.26,
					   .rest = 3,
					   .state = "S",
					   .comm = EVIL,
					   .frames = s->frames,
					   .n_frames = 8 };
	s->stacks[1] = (struct run_stack){
		.here = 20, .state = "D", .comm = "x", .frames = s->frames, .n_frames = 2
	};
	s->stacks[2] = (struct run_stack){ .here = 10, .state = "S", .comm = "y" };
	s->stacks[3] = (struct run_stack){
		.here = 99.96, .rest = 98, .noise = true, .frames = s->frames + 5, .n_frames = 1
	};
	s->tables[0] = (struct run_stack_table){
		.session = "sched", .here = 500 * MS, .rest = 800 * MS, .v = s->stacks, .n = 3
	};
	s->tables[1] = (struct run_stack_table){
		.session = "cpu", .event = EVIL, .here = 10, .rest = 20, .v = s->stacks + 3, .n = 1
	};
	s->tables[2] = (struct run_stack_table){
		.session = "cpu", .event = "e", .here = 10, .v = s->stacks + 3, .n = 1
	};
	s->incidents[0].tables = s->tables;
	s->incidents[0].n_tables = 3;
}

static void make_sample(struct sample *s)
{
	*s = (struct sample){ 0 };
	s->opts.command = (char *const *)evil_command;
	s->opts.exit_code = 2;
	s->rules[0] = (struct run_rule){ .name = "slow",
					 .when = "runqlat > 20ms",
					 .condition = "comm == \"a|b\"",
					 .threshold = 20 * MS };
	add_matches(&s->rules[0].state, 30 * MS, 3);
	s->rules[0].state.fired = 1;
	s->rules[0].matches = histogram__of(&s->rules[0].state);
	s->rules[1] = (struct run_rule){ .name = "fine", .when = "blocked > 1s" };
	s->triggers[0] = (struct run_trigger){ .rule = 0,
					       .value = 30 * MS,
					       .threshold = 20 * MS,
					       .comm = EVIL,
					       .process = "p",
					       .pid = 7,
					       .tid = 8 };
	s->triggers[1] = s->triggers[0];
	s->triggers[1].value = 40 * MS;
	s->triggers[1].merged = true;
	s->files[0] = (struct run_file){ .session = "cpu", .error = EVIL };
	s->files[1] = (struct run_file){ .session = "sched", .path = "/o/" EVIL };
	s->incidents[0] = (struct run_incident){ .name = "2026010203040506",
						 .triggers = s->triggers,
						 .n_triggers = 2,
						 .files = s->files,
						 .n_files = 2 };
	s->sessions[0] = (struct run_session){ .name = "cpu", .run = EVIL, .notice = "note" };
	s->o = (struct outcome){ .recorded = true,
				 .opts = &s->opts,
				 .directory = "/o/" EVIL,
				 .wall_ns = 1500 * MS,
				 .command_ended = true,
				 .rules = s->rules,
				 .n_rules = 2,
				 .sessions = s->sessions,
				 .n_sessions = 1,
				 .incidents = s->incidents,
				 .n_incidents = 1 };
	add_tables(s);
}

static void test_stacks(void **state)
{
	static const char *const lines[] = {
		"Off CPU, session sched: 500ms of all tasks in the window, 800ms in the rest of "
		"the run\n",
		"\n| 61.3% | 3.0% | ",
		"| futex_wait ← lib&lt;/x&gt;\"&#124;&#96;?::e&#93;?.so ← holds_the_lock ← "
		"std::map&lt;a&#124;b&gt;::find ← &lt;/x&gt;",
		"\n| 20.0% | 0.0% | x, D | (the scheduler alone) |\n",
		"\n| 10.0% | 0.0% | y, S | (no stack) |\n",
		") in the window, 20 in the rest of the run\n\n| window | rest | stack "
		"|\n|--:|--:|---|"
		"\n| 100.0% | 98.0% ~ | holds",
		"; nothing of the rest of the run was still there\n\n| window | stack "
		"|\n|--:|---|\n",
	};
	struct buf b = { 0 };
	struct sample s;
	json_t *j, *stacks, *frame;

	make_sample(&s);
	assert_int_equal(report_stacks(&s.o, &s.incidents[0], &b), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr(b.data, lines[i]))
			fail_msg("not there: %s\n%s", lines[i], b.data);
	assert_null(strstr(b.data, "schedule ←"));
	assert_null(strstr(b.data, "do_syscall"));
	buf__free(&b);

	assert_int_equal(report_json(&s.o, &b), 0);
	j = json_loads(b.data, JSON_REJECT_DUPLICATES, NULL);
	stacks = json_object_get(json_array_get(json_object_get(j, "incidents"), 0), "hot_stacks");
	assert_int_equal(json_array_size(stacks), 3);
	stacks = json_object_get(json_array_get(stacks, 0), "stacks");
	assert_float_equal(json_real_value(json_object_get(json_array_get(stacks, 0), "percent")),
			   61.26, 1e-9);
	frame = json_array_get(json_object_get(json_array_get(stacks, 0), "frames"), 5);
	assert_string_equal(json_string_value(json_object_get(frame, "symbol")), "holds_the_lock");
	json_decref(j);
	buf__free(&b);
}

static void test_worst(void **state)
{
	const struct run_incident *inc = NULL;
	struct sample s;

	make_sample(&s);
	assert_int_equal(outcome__worst(&s.o, 0, &inc)->value, 40 * MS);
	assert_ptr_equal(inc, s.incidents);
	assert_null(outcome__worst(&s.o, 1, &inc));
	assert_string_equal(run_incident__dump(inc)->session, "sched");
}

static void test_json(void **state)
{
	struct buf b = { 0 };
	struct sample s;
	json_t *j;

	make_sample(&s);
	assert_int_equal(report_json(&s.o, &b), 0);
	j = json_loads(b.data, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(j);
	assert_int_equal(json_integer_value(json_object_get(j, "exit_status")), 2);
	assert_int_equal(json_array_size(json_object_get(j, "rules")), 2);
	json_decref(j);
	buf__free(&b);
}

/* Every '<' begins an element of ours. */
static void test_junit(void **state)
{
	static const char *const ours[] = { "<?xml",	 "<testsuite",	"</testsuite",
					    "<testcase", "</testcase",	"<failure",
					    "</failure", "<system-out", "</system-out" };
	struct buf b = { 0 };
	struct sample s;

	make_sample(&s);
	assert_int_equal(report_junit(&s.o, &b), 0);
	for (const char *p = b.data; (p = strchr(p, '<')); p++) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
			known |= !strncmp(p, ours[i], strlen(ours[i]));
		if (!known)
			fail_msg("%.40s", p);
	}
	assert_non_null(strstr(b.data, "failures=\"1\""));
	assert_non_null(strstr(b.data, "tests=\"2\""));
	assert_non_null(strstr(b.data, "40ms &gt; 20ms, by &lt;/x&gt;"));
	buf__free(&b);
}

/* Every row has as many cells as the head, and no line is injected. */
static void test_table(void **state)
{
	struct buf b = { 0 };
	struct sample s;
	int rows = 0, cells = 0;

	make_sample(&s);
	assert_int_equal(report_markdown(&s.o, &b), 0);
	for (char *line = strtok(b.data, "\n"); line; line = strtok(NULL, "\n")) {
		int bars = 0;

		for (const char *c = line; *c; c++)
			bars += *c == '|';
		assert_true(strncmp(line, "::", 2) != 0);
		if (line[0] != '|')
			cells = 0;
		if (line[0] != '|')
			continue;
		if (!cells)
			cells = bars;
		assert_int_equal(bars, cells);
		rows++;
	}
	assert_int_equal(rows, 4 + 5 + 3 + 3);
	buf__free(&b);
}

static void test_annotations(void **state)
{
	struct buf b = { 0 };
	struct sample s;

	make_sample(&s);
	assert_int_equal(report_github(&s.o, &b), 0);
	assert_int_equal(strncmp(b.data, "::error title=frbpf%3A rule slow::", 34), 0);
	assert_ptr_equal(strchr(b.data, '\n'), b.data + b.len - 1); /* one line */
	buf__free(&b);

	assert_int_equal(report_gitlab(&s.o, "https://x/jobs/1", "out dir", &b), 0);
	assert_non_null(strstr(b.data, "https://x/jobs/1/artifacts/file/out%20dir/summary.md"));
	buf__free(&b);
}

static void test_not_recorded(void **state)
{
	struct buf b = { 0 };
	struct sample s;

	make_sample(&s);
	s.o = (struct outcome){ .opts = &s.opts, .reason = "no <CAP_BPF>" };
	assert_int_equal(report_junit(&s.o, &b), 0);
	assert_non_null(strstr(b.data, "<skipped message=\"no &lt;CAP_BPF&gt;\"/>"));
	buf__free(&b);
	assert_int_equal(report_markdown(&s.o, &b), 0);
	assert_non_null(strstr(b.data, "not recorded"));
	buf__free(&b);
	assert_int_equal(report_json(&s.o, &b), 0);
	buf__free(&b);
}

/* Each report has the answer and what to look at next. Markup in them is shown as text. */
static void test_why_and_next(void **state)
{
	struct buf b = { 0 };
	struct sample s;

	make_sample(&s);
	s.incidents[0].why = (char *)"<b> computed";
	s.incidents[0].verdict = json_pack("{s:s}", "next", "perf report -i <x> | less");
	assert_int_equal(report_markdown(&s.o, &b), 0);
	assert_non_null(strstr(b.data, "\nWhy: &lt;b&gt; computed  \n"
				       "Next: perf report -i &lt;x&gt;"));
	assert_null(strstr(b.data, "<x>"));
	buf__free(&b);
	assert_int_equal(report_junit(&s.o, &b), 0);
	assert_non_null(strstr(
		b.data, "; why: &lt;b&gt; computed; next: perf report -i &lt;x&gt; | less\""));
	buf__free(&b);
	assert_int_equal(report_json(&s.o, &b), 0);
	assert_non_null(strstr(b.data, "\"next\": \"perf report -i <x> | less\""));
	buf__free(&b);
	json_decref(s.incidents[0].verdict);
}

/* ---- findings of the process that reads dumps ---- */

static void drop_tables(struct sample *s)
{
	s->incidents[0].tables = NULL;
	s->incidents[0].n_tables = 0;
}

static void test_findings(void **state)
{
	struct buf before = { 0 }, after = { 0 };
	struct sample s;
	json_t *j;

	make_sample(&s);
	s.incidents[0].why = (char *)"because";
	s.incidents[0].verdict = json_pack("{s:s}", "cause", "device");
	s.incidents[0].kernel_symbols = json_pack("[s]", "ffffffff81000000 t schedule");
	j = findings__json(&s.o);
	assert_non_null(j);
	assert_int_equal(report_json(&s.o, &before), 0);
	json_decref(s.incidents[0].verdict);
	json_decref(s.incidents[0].kernel_symbols);
	make_sample(&s);
	drop_tables(&s);
	assert_int_equal(findings__take(j, &s.o), 0);
	assert_int_equal(report_json(&s.o, &after), 0);
	assert_string_equal(before.data, after.data);
	assert_string_equal(json_string_value(json_object_get(s.incidents[0].verdict, "cause")),
			    "device");
	assert_int_equal(json_array_size(s.incidents[0].kernel_symbols), 1);
	s.incidents[0].triggers = NULL; /* not on the heap */
	s.incidents[0].files = NULL;
	s.incidents[0].n_files = 0;
	run_incident__free(&s.incidents[0]);
	json_decref(j);
	buf__free(&before);
	buf__free(&after);
}

static void test_false_findings(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"[{\"tables\": [], \"why\": 1, \"verdict\": null}]",
		"[{\"tables\": [], \"why\": null, \"verdict\": []}]",
		"[{\"tables\": {}, \"why\": null, \"verdict\": null}]",
		"[{\"tables\": [], \"why\": null, \"verdict\": null, \"kernel_symbols\": 1}]",
		"[{\"tables\": [{}], \"why\": null, \"verdict\": null}]",
		/* a session that the run does not have */
		("[{\"tables\": [{\"session\": \"x\", \"event\": null, \"stacks\": []}], "
		 "\"why\": null, \"verdict\": null}]"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		json_t *j = json_loads(texts[i], 0, NULL);
		struct sample s;

		make_sample(&s);
		drop_tables(&s);
		assert_non_null(j);
		assert_int_equal(findings__take(j, &s.o), -EBADMSG);
		s.incidents[0].triggers = NULL;
		s.incidents[0].files = NULL;
		s.incidents[0].n_files = 0;
		run_incident__free(&s.incidents[0]);
		json_decref(j);
	}
}

static void test_unread(void **state)
{
	struct buf b = { 0 };
	struct sample s;

	make_sample(&s);
	snprintf(s.o.unread, sizeof(s.o.unread), "the process that read the recording died");
	assert_int_equal(report_markdown(&s.o, &b), 0);
	assert_non_null(strstr(b.data, "\nFindings of the dumps are missing here: the process that "
				       "read the recording died\n"));
	buf__free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_status),
		cmocka_unit_test(test_contradicted),
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_percentiles_in_order),
		cmocka_unit_test(test_xml),
		cmocka_unit_test(test_markdown),
		cmocka_unit_test(test_github),
		cmocka_unit_test(test_shell),
		cmocka_unit_test(test_worst),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_junit),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_annotations),
		cmocka_unit_test(test_not_recorded),
		cmocka_unit_test(test_why_and_next),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_false_findings),
		cmocka_unit_test(test_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
