// SPDX-License-Identifier: GPL-2.0-only
/* Rules in several files. Needs no root. */
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

#include "common/cleanup.h"
#include "rules/rules_files.h"
#include "rules/ruleset.h"
#include "temp_tree.h"

#define SWITCHES "run = -e sched:sched_switch -m 1M -a\n"
#define SWAPS	 "run = -e sched:sched_waking -m 1M -a\n"
#define CYCLES	 "run = -e cycles -m 1M -a\n"

static char dir[64];

static int setup(void **state)
{
	char sub[80];

	snprintf(dir, sizeof(dir), "/tmp/frbpf-test.XXXXXX");
	snprintf(sub, sizeof(sub), "%s/sub", mkdtemp(dir) ?: "");
	return mkdir(sub, 0700);
}

static int teardown(void **state)
{
	remove_temp_tree(dir);
	return 0;
}

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void file(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static struct ruleset *load(const char *a, const char *b, struct diags *d)
{
	char list[256];
	struct ruleset *rs = NULL;
	int n = snprintf(list, sizeof(list), "%s", path_of(a));

	if (b)
		snprintf(list + n, sizeof(list) - n, "%c%s", RULES_FILES_SEPARATOR, path_of(b));
	if (ruleset__load(list, d, &rs))
		assert_true(diags__failed(d));
	return rs;
}

/* "s t": the sessions of rule @name */
static const char *dumps(const struct ruleset *rs, const char *name)
{
	static char text[256];
	const struct rule_conf *r = NULL;

	text[0] = '\0';
	for (size_t i = 0; i < rs->n_rules; i++) {
		if (!strcmp(rs->rules[i].name, name))
			r = &rs->rules[i];
	}
	assert_non_null(r);
	for (size_t i = 0; i < r->n_sessions; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 rs->sessions[r->sessions[i]].name);
	return text;
}

static void each_with_its_own_sessions(void **state)
{
	struct diags d = { 0 };
	struct ruleset *rs;

	file("a.conf", "[daemon]\nmax-memory = 64M\n[session-cpu]\n" CYCLES
		       "[session-sched]\n" SWITCHES "[rule-one]\nwhen = runqlat > 1s\n"
		       "[rule-same]\nwhen = runqlat > 2s\ndump = cpu\n[rule-other]\n"
		       "when = runqlat > 3s \\");
	file("b.conf", "[daemon]\nmax-memory = 1M\nmax-size = 1G\n[session-prof]\n" CYCLES
		       "[session-sched]\n" SWAPS "[rule-two]\nwhen = blocked > 1s\n"
		       "[rule-three]\nwhen = blocked > 2s\ndump = prof\n"
		       "[rule-four]\nwhen = blocked > 3s\ndump = SCHED\n"
		       "[rule-same]\nwhen = runqlat > 2s\n[rule-other]\nwhen = runqlat > 4s\n");
	rs = load("a.conf", "b.conf", &d);
	assert_non_null(rs);
	assert_int_equal(rs->n_sessions, 3); /* one for cycles, two different ones called sched */
	assert_int_equal(rs->n_rules, 7);
	assert_string_equal(dumps(rs, "one"), "cpu sched");
	assert_string_equal(dumps(rs, "two"), "cpu sched-b");
	assert_string_equal(dumps(rs, "three"), "cpu");
	assert_string_equal(dumps(rs, "four"), "sched-b");
	assert_string_equal(dumps(rs, "same"), "cpu sched-b");
	assert_string_equal(dumps(rs, "other-b"), "cpu sched-b");
	assert_int_equal(rs->daemon.max_memory, 64 << 20); /* the first file decides */
	assert_int_equal(rs->daemon.max_size, 1 << 30);
	assert_int_equal(d.n, 2); /* warnings for both new names */
	assert_int_equal(d.n_errors, 0);
	ruleset__free(rs);
	diags__free(&d);
}

/* Sessions of one name that record the same are one, with the larger rings. */
static void joined(void **state)
{
	static const struct {
		const char *a, *b;
		const char *run; /* NULL: they are two */
		uint64_t ring;	 /* s */
	} cases[] = {
		{ "run = -a -m 1M -e cs", "run = -a -m 2M -e cs", "-a -m 2M -e cs", 0 },
		{ "run = -a -m 2M\nring = 9s", "run = -a -m 1M\nring = 5s", "-a -m 2M", 9 },
		{ "run = -a -m2M\nring = 5s", "run = -a -m 4M\nring = 9s", "-a -m 4M", 9 },
		{ "run = -a -m 2M", "run = -a", "-a -m 2M", 0 },
		{ "run = evidence -m 8M\nring = 20s", "run = evidence -m 8M", "evidence -m 8M",
		  20 },
		{ "run = -a -m 512", "run = -a -m 1M", NULL, 0 }, /* pages: the machine's size */
		{ "run = -a -m 1M", "run = -e cs -m 2M -a", NULL, 0 },
		{ "run = -a -m 1M\nrespawn = yes", "run = -a -m 2M", NULL, 0 },
	};
	char text[2][128];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct diags d = { 0 };
		struct ruleset *rs;

		snprintf(text[0], sizeof(text[0]), "[session-s]\n%s\n", cases[i].a);
		snprintf(text[1], sizeof(text[1]),
			 "[session-s]\n%s\n[rule-b]\nwhen = runqlat > 1s\n", cases[i].b);
		file("a.conf", text[0]);
		file("b.conf", text[1]);
		rs = load("a.conf", "b.conf", &d);
		assert_non_null(rs);
		assert_int_equal(rs->n_sessions, cases[i].run ? 1 : 2);
		assert_int_equal(d.n, cases[i].run ? 0 : 1);
		assert_string_equal(dumps(rs, "b"), cases[i].run ? "s" : "s-b");
		if (cases[i].run) {
			assert_string_equal(rs->sessions[0].run, cases[i].run);
			assert_int_equal(rs->sessions[0].ring, cases[i].ring * 1000000000ULL);
		}
		ruleset__free(rs);
		diags__free(&d);
	}
}

static void included(void **state)
{
	struct diags d = { 0 };
	struct buf text = { 0 };
	struct ruleset *rs;

	file("main.conf", "include = sub/x.conf\ninclude = all.conf\n"
			  "[rule-main]\nwhen = runqlat > 1s\n");
	file("sub/x.conf", "\xef\xbb\xbf[daemon]\ninclude = \"../all.conf\", y.conf\n"
			   "[session-x]\n" SWITCHES "[rule-x]\nwhen = runqlat > 2s\n");
	file("sub/y.conf", "[rule-y]\nwhen = runqlat > 3s\ndump = x\n");
	file("all.conf", "[session-all]\n" CYCLES);
	rs = load("main.conf", NULL, &d);
	assert_non_null(rs);
	assert_int_equal(d.n, 0);
	assert_int_equal(rs->n_sessions, 2);
	assert_string_equal(dumps(rs, "main"), "x all"); /* that file has none of its own */
	assert_string_equal(dumps(rs, "x"), "x");
	assert_string_equal(dumps(rs, "y"), "x");
	assert_int_equal(rules_files__list(rs->config->src, &text), 0);
	assert_non_null(strstr(text.data, "/sub/../all.conf\n"));
	ruleset__free(rs);
	buf__free(&text);
	diags__free(&d);
}

/* Errors have their place in their own file. */
static void said_at_its_place(void **state)
{
	static const struct {
		const char *more, *says;
	} cases[] = {
		{ "include = main.conf\n", "main.conf would include itself" },
		{ "\ninclude = nowhere.conf\n", "nowhere.conf: cannot read it: No such file" },
		{ "include = @nothing\n", "@nothing" },
		{ "include =\n", "'include' has no value" },
		{ "dump = x\n", "more.conf:1:1: error: 'dump' comes before any section" },
		{ "\n[rule-m]\nwhen = runqlat > 1mss\n", "more.conf:3:18: error: unknown unit" },
		{ "[session-m]\nrun = -a\n[session-m]\nrun = -a\n", "first in line 1" },
	};

	file("main.conf", "include = more.conf\n[session-s]\n" SWITCHES);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct diags d = { 0 };
		struct buf text = { 0 };

		file("more.conf", cases[i].more);
		assert_null(load("main.conf", NULL, &d));
		assert_int_equal(diags__format(&d, &text), 0);
		if (!strstr(text.data, cases[i].says) || !strstr(text.data, "more.conf:"))
			fail_msg("not '%s' but: %s", cases[i].says, text.data);
		buf__free(&text);
		diags__free(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_with_its_own_sessions),
		cmocka_unit_test(joined),
		cmocka_unit_test(included),
		cmocka_unit_test(said_at_its_place),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
