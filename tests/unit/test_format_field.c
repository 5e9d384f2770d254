// SPDX-License-Identifier: GPL-2.0-only
/* The text of a tracepoint's format, and the raw data of its samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/format_field.h"

static const char format[] = "name: sched_switch\nID: 314\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			     "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			     "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			     "\tfield:const char * name;\toffset:32;\tsize:8;\tsigned:0;\n"
			     "\tfield:__data_loc char[] path;\toffset:40;\tsize:4;\tsigned:0;\n"
			     "\tfield:__rel_loc char[] near;\toffset:44;\tsize:4;\tsigned:0;\n"
			     "\tfield:__data_loc u32[] mask;\toffset:48;\tsize:4;\tsigned:0;\n"
			     "\tfield:broken\n\tfield:int no_size;\n"
			     "\nprint fmt: \"%s\", REC->prev_comm\n";

static struct format_field field_named(const char *name)
{
	struct format_field f;

	assert_true(format_field__find(format, sizeof(format) - 1, name, &f));
	return f;
}

static void test_lines(void **state)
{
	static const char *const lines[] = {
		"char|prev_comm[16]",	     "pid_t|prev_pid",	      "const char *|name",
		"__data_loc char[]|path", "__rel_loc char[]|near", "__data_loc u32[]|mask",
	};
	const char *at = format, *end = format + sizeof(format) - 1;
	struct format_line l;
	char text[64];
	size_t n = 0;

	while (format_text__next(&at, end, &l)) {
		if (format_line__is_common(&l))
			continue;
		snprintf(text, sizeof(text), "%.*s|%.*s", (int)l.type_len, l.type, (int)l.full_len,
			 l.name);
		assert_in_range(n, 0, ARRAY_SIZE(lines) - 1);
		assert_string_equal(text, lines[n++]);
	}
	assert_int_equal(n, ARRAY_SIZE(lines));
}

static void test_id(void **state)
{
	static const struct {
		const char *text;
		bool found;
		uint64_t id;
	} cases[] = {
		{ format, true, 314 },
		{ "name: x\nID: 7", true, 7 },
		{ "ID: 8\n", true, 8 },
		{ "name: x\nID: 4294967295\n", true, UINT32_MAX },
		{ "name: x\nID: 4294967296\n", false, 0 },
		{ "name: x\nID: 99999999999999999999999999\n", false, 0 },
		{ "name: x\n", false, 0 },
		{ "name: x\nID: ", false, 0 },
		{ "name: x\nID: abc\n", false, 0 },
		{ "name: x\n ID: 1\n", false, 0 }, /* not at the start of a line */
		{ "", false, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].text);
		char *copy = memcpy(malloc(len + 1), cases[i].text, len);
		uint64_t id = 0;

		copy[len] = '1'; /* instead of the NUL: no part of the text */
		assert_int_equal(format_text__id(copy, len, &id), cases[i].found);
		assert_int_equal(id, cases[i].id);
		free(copy);
	}
}

static void test_numbers(void **state)
{
	struct format_field f = field_named("prev_pid");
	char raw[52] = { 0 };
	int32_t minus = -2;
	uint64_t v;

	assert_int_equal(f.offset, 24);
	assert_int_equal(f.size, 4);
	memcpy(raw + 24, &minus, sizeof(minus));
	assert_true(format_field__number(&f, raw, sizeof(raw), &v));
	assert_int_equal((int64_t)v, -2);
	assert_false(format_field__number(&f, raw, 27, &v)); /* the field reaches beyond the end */
	f = field_named("prev_comm");
	assert_false(format_field__number(&f, raw, sizeof(raw), &v));
	f = field_named("mask"); /* at another offset */
	assert_false(format_field__number(&f, raw, sizeof(raw), &v));
	f = (struct format_field){ UINT32_MAX, 8, false };
	assert_false(format_field__number(&f, raw, sizeof(raw), &v));
	assert_false(format_field__find(format, sizeof(format) - 1, "pid", &f));
	assert_false(format_field__find(format, sizeof(format) - 1, "no_size", &f));
	/* a format cut at any byte is incomplete, and does no other harm */
	for (size_t n = 0; n < sizeof(format); n++)
		format_field__find(format, n, "mask", &f);
}

static void test_texts(void **state)
{
	static const struct {
		const char *name;
		uint32_t loc; /* size and offset of the text; 0: it is in the field */
		const char *text;
	} cases[] = {
		{ "prev_comm", 0, "0123456" }, /* cut: the buffer has 8 bytes */
		{ "path", 4 << 16 | 60, "/etc" },
		{ "path", 6 << 16 | 62, "tc" }, /* up to the NUL */
		{ "path", 8 << 16 | 64, NULL },
		{ "near", 4 << 16 | 12, "/etc" }, /* from byte 48 on */
		{ "near", 4 << 16 | 0xffff, NULL },
		{ "path", 0xffffffff, NULL },
	};
	char raw[68] = { 0 }, text[8];
	struct format_field f;

	memcpy(raw + 8, "0123456789abcdef", 16);
	memcpy(raw + 60, "/etc", 4);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		f = field_named(cases[i].name);
		assert_true(f.is_text);
		if (cases[i].loc)
			memcpy(raw + f.offset, &cases[i].loc, sizeof(cases[i].loc));
		assert_int_equal(format_field__text(&f, raw, sizeof(raw), text, sizeof(text)),
				 !!cases[i].text);
		if (cases[i].text)
			assert_string_equal(text, cases[i].text);
	}
	assert_false(format_field__text(&f, raw, f.offset, text, sizeof(text)));
	assert_false(field_named("mask").is_text);
	assert_false(field_named("name").is_text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_id),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
