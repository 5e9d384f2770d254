// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fields of a tracepoint's format: their values, kernel filters made from conditions on them, and
 * hits that two events saw. Without the kernel.
 * with: others
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "detect/tracepoint/fields_bind.h"

static const char format_text[] =
	"name: test\nID: 4711\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:int res;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:char name[8];\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:__u8 saddr[4];\toffset:24;\tsize:4;\tsigned:0;\n"
	"\tfield:__u8 saddr_v6[16];\toffset:28;\tsize:16;\tsigned:0;\n"
	"\tfield:unsigned int state;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:const void * skaddr;\toffset:48;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 big;\toffset:56;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"%s\", __print_symbolic(REC->state, { 1, \"ONE\" }, { 0x2, \"TWO\" }, "
	"{ X, \"NONE\" }), "
	/* as show_gfp_flags() of the kernel */
	"(REC->big) ? __print_flags((unsigned long)REC->big, \"|\", {(unsigned long)((( "
	"gfp_t)((1UL) << (3))) | "
	"(( gfp_t)(1))), \"NINE\"}, {(unsigned long)4, \"FOUR\"}, {0, \"0\"}) : \"none\", "
	"__print_flags(REC->res & ((1 << 3) - 1), \"|\", { 1, \"S\" }, { 2, \"D\" }), "
	"__print_symbolic(REC->name >> 3, { 1, \"SHIFTED\" })\n";

static const char format_raw[80] = "\0\0\0\0\0\0\0\0"
				   "\x40\0\x0b\0"     /* 11 bytes at 64 */
				   "\xfb\xff\xff\xff" /* -5 */
				   "abcdefgh"
				   "\x0a\x4d\0\1" /* 10.77.0.1 */
				   "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
				   "\2\0\0\0"
				   "\0\0\0\0\0\0\0\0"
				   "\xff\xff\xff\xff\xff\xff\xff\xff"
				   "/bin/a-file";

static struct event_format *make_format(void)
{
	struct event_format *f;

	assert_int_equal(event_format__parse(format_text, strlen(format_text), &f), 0);
	return f;
}

static void test_format(void **state)
{
	static const struct {
		const char *name;
		enum event_field_kind kind;
		uint64_t value[2];
	} cases[] = {
		{ "res", EVENT_FIELD_NUMBER, { -5LL } },
		{ "saddr", EVENT_FIELD_IPV4, { 0x0a4d000100000000 } },
		{ "saddr_v6", EVENT_FIELD_IPV6, { 0x20010db800000000, 1 } },
		{ "state", EVENT_FIELD_NUMBER, { 2 } },
		{ "big", EVENT_FIELD_NUMBER, { INT64_MAX } },
		{ "skaddr", EVENT_FIELD_OTHER },
	};
	struct event_format *f = make_format();
	const struct event_field *field;
	__u64 v[2];
	size_t len;
	const char *s;

	assert_int_equal(f->id, 4711);
	assert_null(event_format__find(f, "common_pid", 10));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		field = event_format__find(f, cases[i].name, strlen(cases[i].name));
		assert_non_null(field);
		assert_int_equal(field->kind, cases[i].kind);
		event_field__value(field, format_raw, sizeof(format_raw), v);
		assert_int_equal(v[0], cases[i].value[0]);
		assert_int_equal(v[1], cases[i].value[1]);
		event_field__value(field, format_raw, field->at.offset, v); /* cut off */
		assert_int_equal(v[0], 0);
	}
	field = event_format__find(f, "state", 5);
	assert_string_equal(field->symbols[1].name, "TWO");
	assert_null(field->symbols[2].name);
	field = event_format__find(f, "big", 3);
	assert_non_null(field->symbols);
	assert_string_equal(field->symbols[0].name, "NINE");
	assert_int_equal(field->symbols[0].value, 9);
	assert_string_equal(field->symbols[1].name, "FOUR");
	assert_int_equal(field->symbols[1].value, 4);
	assert_null(field->symbols[2].name);
	field = event_format__find(f, "res", 3);
	assert_non_null(field->symbols);
	assert_string_equal(field->symbols[1].name, "D");
	assert_null(event_format__find(f, "name", 4)->symbols);
	field = event_format__find(f, "filename", 8);
	s = event_field__string(field, format_raw, sizeof(format_raw), &len);
	assert_int_equal(len, 11);
	assert_memory_equal(s, "/bin/a-file", 11);
	event_field__string(field, format_raw, 70, &len); /* its end is missing */
	assert_int_equal(len, 0);
	field = event_format__find(f, "name", 4); /* without a NUL */
	event_field__string(field, format_raw, sizeof(format_raw), &len);
	assert_int_equal(len, 8);
	fields_bind__value(f, "filename~*/a-*", format_raw, sizeof(format_raw), v);
	assert_int_equal(v[0], 1);
	fields_bind__value(f, "filename==/bin/a-file", format_raw, sizeof(format_raw), v);
	assert_int_equal(v[0], 1);
	fields_bind__value(f, "filename==/bin/a-fil", format_raw, sizeof(format_raw), v);
	assert_int_equal(v[0], 0);
	event_format__free(f);
	assert_int_equal(event_format__parse("nothing", 7, &f), -EINVAL);
}

/* A format may name constants without their values, which kernel BTF has. */
static void test_names_of_the_kernel(void **state)
{
	static const char text[] =
		"name: test\nID: 1\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
		"\tfield:int state;\toffset:8;\tsize:4;\tsigned:1;\n\n"
		"print fmt: \"%s\", __print_symbolic(REC->state, { TCP_SYN_SENT, \"TCP_SYN_SENT\" "
		"}, "
		"{ FRBPF_NO_SUCH, \"NONE\" }, { (1 << TCP_SYN_SENT) | 1, \"OF_\" \"IT\" })\n";
	struct event_format *f;

	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		print_message("skipped: needs kernel BTF\n");
		skip();
	}
	assert_int_equal(event_format__parse(text, strlen(text), &f), 0);
	assert_non_null(f->fields[0].symbols);
	assert_string_equal(f->fields[0].symbols[0].name, "TCP_SYN_SENT");
	assert_int_equal(f->fields[0].symbols[0].value, 2);
	assert_string_equal(f->fields[0].symbols[1].name, "OF_IT");
	assert_int_equal(f->fields[0].symbols[1].value, 5);
	assert_null(f->fields[0].symbols[2].name);
	event_format__free(f);
}

static void test_filter(void **state)
{
	static const struct {
		const char *condition, *filter;
	} cases[] = {
		{ "res < -1 && state == TWO", "(res < -1 && state == 2)" },
		{ "res in (1, 2) && comm == \"x\"",
		  "(res == 1 && COMM == \"x\") || (res == 2 && COMM == \"x\")" },
		{ "filename ~ \"*/a?\" && !(name == \"abc\")",
		  "(filename ~ \"*/a?\" && name != \"abc\")" },
		{ "!(filename ~ \"*/a?\")", "(!(filename ~ \"*/a?\"))" },
		{ "filename == \"/a/name/of/more/than/15/bytes\" || state & 6",
		  "(filename == \"/a/name/of/more/than/15/bytes\") || (state & 6)" },
		{ "saddr == 10.0.0.0/8 && res == 1", "(res == 1)" },
		{ "saddr == 10.0.0.0/8", "" },
		{ "res == 1 || uid == 0", "" },
		{ "big & FOUR && res & D", "(big & 4 && res & 2)" },
		{ "cpu < 2 && process == \"x\"", "(CPU < 2)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct event_format *f = make_format();
		struct ruleset *rs;
		struct source_text *src;
		struct diags d = { 0 };
		char text[512], *filter;

		snprintf(text, sizeof(text),
			 "[session-s]\nrun = -e cs\n[rule-a]\nwhen = a:b\nif = %s\n",
			 cases[i].condition);
		assert_int_equal(source_text__from_string("rules", text, &src), 0);
		assert_int_equal(ruleset__parse(src, &d, &rs), 0);
		if (fields_bind__rule(rs, &rs->rules[0], f, "", &d))
			fail_msg("%s: %s", cases[i].condition, d.v[0].msg);
		assert_int_equal(rs->rules[0].when.source, FRBPF_SOURCE_TRACEPOINT_FIELDS);
		filter = event_filter__of_rule(&rs->rules[0], f);
		assert_string_equal(filter, cases[i].filter);
		free(filter);
		ruleset__free(rs);
		event_format__free(f);
		diags__free(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_names_of_the_kernel),
		cmocka_unit_test(test_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
