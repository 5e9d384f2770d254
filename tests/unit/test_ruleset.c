// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/ruleset.h"
#include "rules/units.h"

#define SESSION "[session-a]\nrun = -a\n"

static int parse(const char *text, struct diags *d, struct ruleset **ret)
{
	struct source_text *src;

	assert_int_equal(source_text__from_string("f", text, &src), 0);
	return ruleset__parse(src, d, ret);
}

static struct ruleset *parse_good(const char *text)
{
	struct ruleset *rs = NULL;
	struct diags d = { 0 };

	if (parse(text, &d, &rs))
		fail_msg("%s: %s", text, d.v[0].msg);
	assert_int_equal(d.n, 0);
	diags__free(&d);
	return rs;
}

static void check_span_text(const struct ruleset *rs, struct span span, const char *text)
{
	assert_int_equal(span.len, strlen(text));
	assert_memory_equal(rs->config->src->text + span.off, text, span.len);
}

static void daemon_keys(void **state)
{
	struct ruleset *rs = parse_good("[daemon]\n"
					"base = \"/var/lib/a b\"\n"
					"max-memory = 64M\n"
					"sideband-memory = 1G\n"
					"merge = 250ms\n"
					"snapshot = pause\n"
					"watch = yes\n" SESSION);

	assert_string_equal(rs->daemon.base, "/var/lib/a b");
	check_span_text(rs, rs->daemon.base_span, "/var/lib/a b");
	assert_int_equal(rs->daemon.max_memory, 64 << 20);
	check_span_text(rs, rs->daemon.max_memory_span, "64M");
	assert_int_equal(rs->daemon.sideband_memory, 1 << 30);
	assert_int_equal(rs->daemon.merge, 250 * NSEC_PER_MSEC);
	assert_int_equal(rs->daemon.snapshot, SNAPSHOT_PAUSE);
	assert_true(rs->daemon.watch);
	ruleset__free(rs);
}

static void defaults(void **state)
{
	struct ruleset *rs = parse_good(SESSION "[session-b] run = -a\n"
						"[rule-r]\nwhen = runqlat > 20ms\n");
	const struct rule_conf *rule = &rs->rules[0];

	assert_null(rs->daemon.base);
	assert_int_equal(rs->daemon.max_memory, 0);
	assert_int_equal(rs->daemon.sideband_memory, 0);
	assert_int_equal(rs->daemon.merge, NSEC_PER_SEC);
	assert_int_equal(rs->daemon.snapshot, SNAPSHOT_AUTO);
	assert_false(rs->daemon.watch);
	assert_int_equal(rs->n_rules, 1);
	assert_null(rule->if_text);
	assert_int_equal(rule->expr.n_nodes, 0);
	assert_int_equal(rule->n_sessions, 2);
	assert_int_equal(rule->sessions[1], 1);
	assert_true(rule->pre == RULESET_WINDOW_AUTO);
	assert_int_equal(rule->post, NSEC_PER_MSEC);
	assert_int_equal(rule->cooldown.time, 10 * NSEC_PER_SEC);
	assert_int_equal(rule->escalate, 400);
	assert_true(rule->id != 0);
	ruleset__free(rs);
}

static void rules_and_sessions(void **state)
{
	struct ruleset *rs = parse_good("[rule-Spike_1]\n"
					"when = syscall:read, \\\n   write  > 1s\n"
					"if   = comm  ==  \"a  b\"   && cpu < 8\n"
					"dump = C, a\n"
					"pre = 5s\npost = 100ms\ncooldown = 30s per rule\n"
					"[session-A]\n"
					"run = -e  \"sched:*\"   -a # comment\n"
					"[session-b] run = -b\n"
					"[session-c] run = -c\n");
	const struct rule_conf *rule = &rs->rules[0];

	assert_int_equal(rs->n_sessions, 3);
	assert_string_equal(rs->sessions[0].name, "a");
	check_span_text(rs, rs->sessions[0].name_span, "A");
	assert_string_equal(rs->sessions[0].run, "-e sched:* -a");
	check_span_text(rs, rs->sessions[0].run_span, "-e  \"sched:*\"   -a");
	assert_string_equal(rule->name, "spike_1");
	check_span_text(rs, rule->name_span, "Spike_1");
	assert_string_equal(rule->when_text, "syscall:read, write > 1s");
	assert_string_equal(rule->if_text, "comm == \"a  b\" && cpu < 8");
	assert_int_equal(rule->when.source, FRBPF_SOURCE_SYSCALL);
	assert_int_equal(rule->expr.n_nodes, 2);
	assert_int_equal(rule->n_sessions, 2);
	assert_int_equal(rule->sessions[0], 2);
	assert_int_equal(rule->sessions[1], 0);
	assert_int_equal(rule->pre, 5 * NSEC_PER_SEC);
	assert_int_equal(rule->post, 100 * NSEC_PER_MSEC);
	assert_int_equal(rule->cooldown.time, 30 * NSEC_PER_SEC);
	ruleset__free(rs);
}

static uint64_t rule_id_of(const char *name, const char *keys)
{
	struct ruleset *rs;
	char text[512];
	uint64_t id;

	snprintf(text, sizeof(text), SESSION "[rule-%s]\n%s", name, keys);
	rs = parse_good(text);
	id = rs->rules[0].id;
	ruleset__free(rs);
	return id;
}

/* The id of a rule's state does not depend on blanks, positions, or keys for dumps. */
static void identity(void **state)
{
	uint64_t id = rule_id_of("r", "when = runqlat > 20ms\nif = cpu < 8\n");

	assert_true(id == rule_id_of("R", "if = cpu  < \\\n 8\n#\nwhen =  runqlat  > 20ms"));
	assert_true(id ==
		    rule_id_of("r", "when = runqlat > 20ms\nif = cpu < 8\npre = 5s\ndump = a\n"));
	assert_true(id == rule_id_of("r", "when = runqlat > 20ms\nif = cpu < 8\ncooldown = 10s\n"));
	assert_true(id != rule_id_of("s", "when = runqlat > 20ms\nif = cpu < 8\n"));
	assert_true(id != rule_id_of("r", "when = runqlat > 21ms\nif = cpu < 8\n"));
	assert_true(id != rule_id_of("r", "when = runqlat > 20ms\nif = cpu < 9\n"));
	assert_true(id != rule_id_of("r", "when = runqlat > 20ms\n"));
	assert_true(id != rule_id_of("r", "when = runqlat > 20ms\nif = cpu < 8\ncooldown = 11s\n"));
	assert_true(id !=
		    rule_id_of("r", "when = runqlat > 20ms\nif = cpu < 8\ncount = 2 in 1s\n"));
	assert_true(id ==
		    rule_id_of("r", "when = runqlat > 20ms\nif = cpu < 8\nmax-dumps = 2 in 1s\n"));
}

static void check_refused(const char *text, size_t n_errors, const char *message)
{
	struct ruleset *rs = NULL;
	struct diags d = { 0 };
	struct buf out = { 0 };

	assert_int_equal(parse(text, &d, &rs), -EINVAL);
	assert_null(rs);
	assert_int_equal(diags__format(&d, &out), 0);
	if (d.n_errors != n_errors || !strstr(out.data, message))
		fail_msg("'%s':\n%s", text, out.data);
	buf__free(&out);
	diags__free(&d);
}

/* perf daemon accepts a file without sessions: they may come later. */
static void daemon_section_needs_no_session(void **state)
{
	struct ruleset *rs = NULL;
	struct diags d = { 0 };

	assert_int_equal(parse("[daemon]\nbase = /b\n", &d, &rs), 0);
	assert_int_equal(rs->n_sessions, 0);
	assert_int_equal(d.n, 1);
	ruleset__free(rs);
	diags__free(&d);
}

/*
 * A dropped session is removed from rules and from the names that files give to sessions. A rule
 * without a session becomes quiet.
 */
static void a_session_is_dropped(void **state)
{
	struct ruleset *rs = NULL;
	struct diags d = { 0 };

	assert_int_equal(parse("[session-a]\nrun = -a\n[session-b]\nrun = -e b\n"
			       "[session-c]\nrun = -e c\n"
			       "[rule-all]\nwhen = runqlat > 1s\n"
			       "[rule-b]\nwhen = runqlat > 1s\ndump = b\n"
			       "[rule-c]\nwhen = runqlat > 1s\ndump = c\n",
			       &d, &rs),
			 0);
	ruleset__drop_session(rs, 1);
	assert_int_equal(rs->n_sessions, 2);
	assert_string_equal(rs->sessions[1].name, "c");
	assert_int_equal(rs->n_own, 2);
	assert_int_equal(rs->own[1].session, 1);
	assert_int_equal(rs->rules[0].n_sessions, 2);
	assert_int_equal(rs->rules[0].sessions[1], 1);
	assert_int_equal(rs->rules[1].n_sessions, 0);
	assert_true(rs->rules[1].quiet);
	assert_int_equal(rs->rules[2].sessions[0], 1);
	assert_false(rs->rules[2].quiet);
	ruleset__free(rs);
	diags__free(&d);
}

/* Rules alone are enough: the evidence for them is recorded. */
static void rules_without_sessions(void **state)
{
	struct ruleset *rs = parse_good("[rule-r]\nwhen = runqlat > 20ms\n"
					"[rule-c]\nwhen = runqlat > 1s\ndump = cpu\n");

	assert_true(rs->default_sessions);
	assert_int_equal(rs->n_sessions, 2);
	assert_string_equal(rs->sessions[0].name, "evidence");
	assert_true(rs->sessions[0].evidence);
	assert_int_equal(rs->sessions[0].ring, 10 * NSEC_PER_SEC);
	assert_int_equal(rs->rules[0].n_sessions, 2);
	assert_int_equal(rs->rules[1].n_sessions, 1);
	assert_int_equal(rs->rules[1].sessions[0], 1);
	ruleset__free(rs);
}

static void evidence_is_a_word(void **state)
{
	struct ruleset *rs = parse_good("[session-a]\nrun = evidence\n"
					"[session-b]\nring = 3s\nrun = evidence -m 8M\n"
					"[session-c]\nrun = evidences\n"
					"[session-d]\nrun = -a evidence\n");

	assert_false(rs->default_sessions);
	assert_true(rs->sessions[0].evidence && rs->sessions[1].evidence);
	assert_false(rs->sessions[2].evidence || rs->sessions[3].evidence);
	assert_int_equal(rs->sessions[0].ring, 10 * NSEC_PER_SEC);
	assert_int_equal(rs->sessions[0].ring_span.len, 0);
	assert_int_equal(rs->sessions[1].ring, 3 * NSEC_PER_SEC);
	ruleset__free(rs);
}

static void one_mistake_one_message(void **state)
{
	check_refused("", 1, "neither a rule nor a session");
	check_refused("[session-a]\n", 1, "has no 'run'");
	check_refused("[session-a]\nrun\n", 1, "'run' has no value");
	check_refused("[session-a]\nrun =\n", 1, "the value of 'run' is missing");
	check_refused("[session-a]\nrun -a\n", 1, "'=' is expected");
	check_refused("[session-a\nrun = -a\n[rule-r]\nwhen = runqlat > 1s\ndump = a\n", 1,
		      "']' of this '['");
	check_refused("[session-a]\n[rule-r]\nwhen = runqlat > 1s\ndump = a\n", 1, "no 'run'");
	check_refused(SESSION SESSION, 1, "twice: first in line 1");
	check_refused(SESSION "[rule-r]\nwhen = runqlat > x\nwhen = runqlat > y\n", 2, "line 4");
	check_refused(SESSION "[rule-r]\nwhen runqlat\n", 1, "'=' is expected");
	check_refused(SESSION "[rule r]\nwhen = x\n", 1, "[rule-NAME]");
	check_refused(SESSION "[rulse-r]\nwhen = x\n", 1, "did you mean [rule-r]?");
}

static void limits(void **state)
{
	struct buf text = { 0 };
	struct ruleset *rs;

	buf__add_str(&text, SESSION);
	for (int i = 0; i < FRBPF_MAX_RULES; i++)
		buf__printf(&text, "[rule-r%d]\nwhen = runqlat > %ds\n", i, i + 1);
	rs = parse_good(text.data);
	assert_int_equal(rs->n_rules, FRBPF_MAX_RULES);
	ruleset__free(rs);
	buf__add_str(&text, "[rule-other]\nwhen = syscall:read > 1s\n");
	ruleset__free(parse_good(text.data));
	buf__add_str(&text, "[rule-one-more]\nwhen = runqlat > 1s\n");
	check_refused(text.data, 1, "more than 256 rules on 'runqlat'");
	text.len = 0;
	for (int i = 0; i < 257; i++)
		buf__printf(&text, "[session-s%d]\nrun = -a\n", i);
	check_refused(text.data, 1, "more than 256 sessions");
	buf__free(&text);
}

static void a_long_base_does_not_fit_a_socket(void **state)
{
	char text[256], base[128];

	memset(base, 'x', sizeof(base));
	snprintf(text, sizeof(text), "[daemon]\nbase = /%.98s\n" SESSION, base);
	ruleset__free(parse_good(text));
	snprintf(text, sizeof(text), "[daemon]\nbase = /%.99s\n" SESSION, base);
	check_refused(text, 1, "has room for 99");
}

static void files(void **state)
{
	struct ruleset *rs = NULL;
	struct diags d = { 0 };

	assert_int_equal(ruleset__load("/nonexistent/rules.conf", &d, &rs), -ENOENT);
	assert_int_equal(ruleset__load("/", &d, &rs), -EISDIR);
	assert_int_equal(d.n, 2);
	assert_string_equal(d.v[0].msg,
			    "/nonexistent/rules.conf: cannot read it: No such file or directory");
	assert_null(rs);
	diags__free(&d);
	ruleset__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(daemon_keys),
		cmocka_unit_test(defaults),
		cmocka_unit_test(rules_and_sessions),
		cmocka_unit_test(identity),
		cmocka_unit_test(daemon_section_needs_no_session),
		cmocka_unit_test(a_session_is_dropped),
		cmocka_unit_test(rules_without_sessions),
		cmocka_unit_test(evidence_is_a_word),
		cmocka_unit_test(one_mistake_one_message),
		cmocka_unit_test(limits),
		cmocka_unit_test(a_long_base_does_not_fit_a_socket),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests_name("ruleset", tests, NULL, NULL);
}
