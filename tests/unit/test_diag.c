// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/nearest_word.h"
#include "rules/diag.h"

/* One message about the first @bad in @text. */
static void check(const char *text, const char *bad, const char *expected)
{
	struct source_text *src;
	struct diags d = { 0 };
	struct buf out = { 0 };
	struct span span = { 0 };

	assert_int_equal(source_text__from_string("f.conf", text, &src), 0);
	assert_non_null(strstr(text, bad));
	span.off = strstr(text, bad) - text;
	span.len = strlen(bad);
	assert_int_equal(diags__error(&d, src, span, "no"), -EINVAL);
	assert_int_equal(diags__format(&d, &out), 0);
	assert_string_equal(out.data, expected);
	buf__free(&out);
	diags__free(&d);
	source_text__free(src);
}

static void carets(void **state)
{
	check("a\nwhen = runqlat > 20mss\n", "20mss",
	      "f.conf:2:18: error: no\n"
	      "    2 | when = runqlat > 20mss\n"
	      "      |                  ^^^^^\n");
	check("bad", "bad", "f.conf:1:1: error: no\n    1 | bad\n      | ^^^\n");
	check("\tx\t= bad\r\n", "bad",
	      "f.conf:1:6: error: no\n    1 | \tx\t= bad\n      | \t \t  ^^^\n");
	/* of a span over two lines, the part on the first line is shown */
	check("one \\\ntwo\n", "e \\\ntw",
	      "f.conf:1:3: error: no\n    1 | one \\\n      |   ^^^\n");
	check("\xef\xbb\xbfxy\n", "y", "f.conf:1:2: error: no\n    1 | xy\n      |  ^\n");
}

static void columns_count_characters(void **state)
{
	check("\xc3\xb6\xe2\x82\xac = bad", "bad",
	      "f.conf:1:6: error: no\n    1 | \xc3\xb6\xe2\x82\xac = bad\n      |      ^^^\n");
}

static void terminals_are_safe(void **state)
{
	struct diags d = { 0 };
	struct buf out = { 0 };

	check("a\x1b[2J\xc2\x9b\xff bad", "bad",
	      "f.conf:1:9: error: no\n    1 | a?[2J?? bad\n      |         ^^^\n");
	diags__error(&d, NULL, (struct span){ 0 }, "key '%s'", "\x1b[31m\xe2\x80\xae");
	assert_int_equal(diags__format(&d, &out), 0);
	assert_string_equal(out.data, "error: key '?[31m?"
				      "?"
				      "?'\n");
	buf__free(&out);
	diags__free(&d);
}

static void empty_span_has_one_caret(void **state)
{
	struct source_text *src;
	struct diags d = { 0 };
	struct buf out = { 0 };

	assert_int_equal(source_text__from_string("--rules", "x =", &src), 0);
	diags__error(&d, src, (struct span){ 3, 0 }, "a value is missing");
	diags__warn(&d, src, (struct span){ 0, 1 }, "odd");
	assert_int_equal(diags__format(&d, &out), 0);
	assert_string_equal(out.data, "--rules:1:1: warning: odd\n"
				      "    1 | x =\n"
				      "      | ^\n"
				      "--rules:1:4: error: a value is missing\n"
				      "    1 | x =\n"
				      "      |    ^\n");
	assert_int_equal(d.n_errors, 1);
	buf__free(&out);
	diags__free(&d);
	source_text__free(src);
}

static void long_lines_are_cut(void **state)
{
	static char text[100001];
	struct source_text *src;
	struct diags d = { 0 };
	struct buf out = { 0 };

	memset(text, 'x', sizeof(text) - 1);
	memcpy(text + 50000, "bad", 3);
	assert_int_equal(source_text__from_string("f", text, &src), 0);
	diags__error(&d, src, (struct span){ 50000, 3 }, "no");
	assert_int_equal(diags__format(&d, &out), 0);
	assert_non_null(strstr(out.data, "f:1:50001: error: no\n    1 | ...xxx"));
	assert_non_null(strstr(out.data, "xbadx"));
	assert_non_null(strstr(out.data, "xxx...\n"));
	/* the caret is below the b */
	assert_ptr_equal(strchr(strchr(out.data, '|'), '\n') + 1 +
				 (strstr(out.data, "bad") - strstr(out.data, "    1 |")),
			 strchr(out.data, '^'));
	assert_true(out.len < 500);
	buf__free(&out);
	diags__free(&d);
	source_text__free(src);
}

static void messages_are_sorted_by_place(void **state)
{
	struct source_text *a, *b;
	struct diags d = { 0 };
	struct buf out = { 0 };
	const char *p;

	assert_int_equal(source_text__from_string("a", "1\n2\n3\n", &a), 0);
	assert_int_equal(source_text__from_string("b", "1\n2\n3\n", &b), 0);
	assert_false(diags__failed(&d));
	diags__error(&d, b, (struct span){ 2, 1 }, "second");
	diags__error(&d, a, (struct span){ 4, 1 }, "fifth");
	diags__error(&d, b, (struct span){ 0, 1 }, "first");
	diags__error(&d, a, (struct span){ 0, 1 }, "third");
	diags__error(&d, a, (struct span){ 0, 1 }, "fourth");
	assert_true(diags__failed(&d));
	assert_int_equal(diags__format(&d, &out), 0);
	p = out.data;
	for (const char **word =
		     (const char *[]){ "first", "second", "third", "fourth", "fifth", NULL };
	     *word; word++) {
		p = strstr(p, *word);
		assert_non_null(p);
	}
	buf__free(&out);
	diags__keep(&d, a);
	diags__keep(&d, b);
	diags__keep(&d, NULL);
	diags__free(&d);
	diags__free(&d);
	diags__free(NULL);
}

static void further_messages_are_only_counted(void **state)
{
	struct diags d = { 0 };
	struct buf out = { 0 };

	for (int i = 0; i < DIAGS_MAX + 23; i++)
		diags__error(&d, NULL, (struct span){ 0 }, "message %d", i);
	assert_int_equal(d.n, DIAGS_MAX);
	assert_int_equal(d.n_errors, DIAGS_MAX + 23);
	assert_int_equal(diags__format(&d, &out), 0);
	assert_non_null(strstr(out.data, "error: 23 more errors are not shown\n"));
	buf__free(&out);
	diags__free(&d);
}

static void nearest(void **state)
{
	static const char *const words[] = {
		"when", "if", "dump", "pre", "post", "cooldown", NULL
	};

	assert_string_equal(nearest_word("whne", 4, words), "when");
	assert_string_equal(nearest_word("WHEN", 4, words), "when");
	assert_string_equal(nearest_word("cooldwon", 8, words), "cooldown");
	assert_string_equal(nearest_word("coldwn", 6, words), "cooldown");
	assert_string_equal(nearest_word("dumpx", 4, words), "dump");
	assert_string_equal(nearest_word("pots", 4, words), "post");
	assert_string_equal(nearest_word("dmup", 4, words), "dump");
	assert_string_equal(nearest_word("whon", 4, words), "when");
	assert_string_equal(nearest_word("dupe", 4, words), "dump"); /* two letters differ */
	assert_null(nearest_word("of", 2, words));
	assert_null(nearest_word("damn", 4, words)); /* two letters differ, and only two agree */
	assert_null(nearest_word("ukmp", 4, words)); /* another first letter */
	assert_null(nearest_word("xxxx", 4, words));
	assert_null(nearest_word("", 0, words));
	assert_null(nearest_word("wxyn", 4, words));
}

static void nearest_of_long_words(void **state)
{
	char word[201] = { 0 };
	const char *words[] = { word, NULL };

	memset(word, 'a', sizeof(word) - 1);
	assert_null(nearest_word(word, 200, words));
	assert_null(nearest_word("aaaa", 4, words));
}

static void files(void **state)
{
	char path[] = "/tmp/frbpf-test-XXXXXX";
	int fd = mkstemp(path);
	struct source_text *src = NULL;

	assert_true(fd >= 0);
	assert_int_equal(source_text__read(path, &src), 0);
	assert_int_equal(src->len, 0);
	assert_string_equal(src->text, "");
	assert_string_equal(src->name, path);
	source_text__free(src);

	assert_int_equal(write(fd, "a\0b", 3), 3);
	assert_int_equal(source_text__read(path, &src), 0);
	assert_int_equal(src->len, 3);
	assert_memory_equal(src->text, "a\0b", 4);
	source_text__free(src);

	src = NULL;
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(source_text__read(path, &src), 0);
	source_text__free(src);
	src = NULL;
	assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
	assert_int_equal(source_text__read(path, &src), -EFBIG);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(source_text__read(path, &src), -ENOENT);
	assert_int_equal(source_text__read("/", &src), -EISDIR);
	assert_null(src);
	source_text__free(NULL);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(carets),
		cmocka_unit_test(columns_count_characters),
		cmocka_unit_test(terminals_are_safe),
		cmocka_unit_test(empty_span_has_one_caret),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(messages_are_sorted_by_place),
		cmocka_unit_test(further_messages_are_only_counted),
		cmocka_unit_test(nearest),
		cmocka_unit_test(nearest_of_long_words),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests_name("diag", tests, NULL, NULL);
}
