// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every file in rules/bad must be refused with exactly the text beside it; every file in rules/good
 * must be accepted without a message.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rules/ruleset.h"

#define MIN_BAD	 40
#define MIN_GOOD 6

static int is_conf(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return dot && !strcmp(dot, ".conf");
}

/* Load @name of the current directory; its messages go to @out. */
static int load(const char *name, struct buf *out)
{
	struct ruleset *rs = NULL;
	struct diags d = { 0 };
	int err = ruleset__load(name, &d, &rs);

	assert_int_equal(err != 0, diags__failed(&d));
	assert_int_equal(diags__format(&d, out), 0);
	assert_int_equal(buf__add_str(out, ""), 0);
	diags__free(&d);
	ruleset__free(rs);
	return err;
}

static int check_bad(const char *name)
{
	struct buf said = { 0 }, expected = { 0 };
	char path[300];
	int err = load(name, &said), failed = 0;

	snprintf(path, sizeof(path), "%.*s.expected", (int)(strlen(name) - strlen(".conf")), name);
	if (buf__read_file(&expected, path, 1 << 20))
		buf__add_str(&expected, "");
	if (!err || strcmp(said.data, expected.data)) {
		print_error("%s: expected:\n%sgot:\n%s", name, expected.data, said.data);
		failed = 1;
	}
	buf__free(&said);
	buf__free(&expected);
	return failed;
}

static int check_good(const char *name)
{
	struct buf said = { 0 };
	int err = load(name, &said), failed = 0;

	if (err || said.len) {
		print_error("%s: %d:\n%s", name, err, said.data);
		failed = 1;
	}
	buf__free(&said);
	return failed;
}

static void walk(const char *dir, int (*check)(const char *name), int at_least)
{
	const char *tests = getenv("FRBPF_TESTS_DIR");
	char *start = getcwd(NULL, 0);
	char path[4096];
	struct dirent **files;
	int n, failed = 0;

	snprintf(path, sizeof(path), "%s/rules/%s", tests ? tests : "tests", dir);
	assert_non_null(start);
	assert_int_equal(chdir(path), 0);
	n = scandir(".", &files, is_conf, alphasort);
	assert_true(n >= at_least);
	for (int i = 0; i < n; i++) {
		failed += check(files[i]->d_name);
		free(files[i]);
	}
	free(files);
	assert_int_equal(chdir(start), 0);
	free(start);
	assert_int_equal(failed, 0);
}

static void bad_files_get_their_message(void **state)
{
	walk("bad", check_bad, MIN_BAD);
}

static void good_files_are_accepted(void **state)
{
	walk("good", check_good, MIN_GOOD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_files_get_their_message),
		cmocka_unit_test(good_files_are_accepted),
	};

	return cmocka_run_group_tests_name("rules_corpus", tests, NULL, NULL);
}
