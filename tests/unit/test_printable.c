// SPDX-License-Identifier: GPL-2.0-only
/* Texts that others chose, made safe for a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/printable.h"

static void check(const char *text, const char *want)
{
	char copy[64];

	strcpy(copy, text);
	assert_ptr_equal(make_printable(copy), copy);
	assert_string_equal(copy, want);
}

static void test_text(void **state)
{
	check("", "");
	check("postgres: writer 7", "postgres: writer 7");
	check("gr\u00fc\u00df \u4f60\u597d \U0001f600", "gr\u00fc\u00df \u4f60\u597d \U0001f600");
}

static void test_controls(void **state)
{
	check("a\x1b[2Jb\nc\td\x7f", "a?[2Jb?c?d?");
	/* C1: the same as ESC [, for terminals that know them */
	check("a\xc2\x9b"
	      "2Jb",
	      "a??2Jb");
	check("a\xc2\x80\xc2\x85z", "a????z");
	check("a\xc2\xa0z", "a\xc2\xa0z");
}

static void test_direction(void **state)
{
	check("a\u202eb", "a???b"); /* right-to-left override */
	check("a\u2066b\u2069", "a???b???");
	check("a\u200eb\u200f", "a???b???");
	check("a\u061c"
	      "b",
	      "a??b");
	check("a\u2028b", "a???b");
}

/* A single byte is C1 for an 8-bit terminal; names of tasks are cut within characters. */
static void test_not_utf8(void **state)
{
	check("a\x9b"
	      "2Jb",
	      "a?2Jb");
	check("caf\xe9", "caf?");
	check("caf\xc3", "caf?");
	check("\xf0\x9f\x98", "???");
	check("\xc0\x9b\xed\xa0\x80", "?????");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_controls),
		cmocka_unit_test(test_direction),
		cmocka_unit_test(test_not_utf8),
	};

	return cmocka_run_group_tests_name("printable", tests, NULL, NULL);
}
