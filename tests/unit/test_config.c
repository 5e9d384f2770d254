// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/config.h"

static struct config *parse(const char *text)
{
	struct source_text *src;
	struct config *c = NULL;
	struct diags d = { 0 };

	assert_int_equal(source_text__from_string("f", text, &src), 0);
	if (config__parse(src, &d, &c)) {
		struct buf out = { 0 };

		diags__format(&d, &out);
		fail_msg("%s", out.data);
	}
	assert_int_equal(d.n, 0);
	diags__free(&d);
	return c;
}

/* The value of the only entry, raw and as perf reads it. */
static void check_value(const char *text, const char *raw, const char *perf)
{
	struct config *c = parse(text);
	const struct config_entry *e;
	char *value;

	assert_int_equal(c->n_sections, 1);
	assert_int_equal(c->sections[0].n_entries, 1);
	e = &c->sections[0].entries[0];
	assert_true(e->has_value);
	assert_int_equal(e->value.len, strlen(raw));
	assert_memory_equal(c->src->text + e->value.off, raw, strlen(raw));
	value = config__perf_value(c, e);
	assert_string_equal(value, perf);
	free(value);
	config__free(c);
}

static void sections_and_keys(void **state)
{
	struct config *c = parse("# comment\n"
				 "; another\n"
				 "\n"
				 "[Daemon]\n"
				 "\tBase=/x\n"
				 "  max-Memory =\n"
				 "flag\n"
				 "bare # comment\n"
				 "[session-A_1]run = -a\n"
				 "[empty]\n"
				 "[man.Woman]\n"
				 "[man \"Two Words\"] [end]");
	const struct config_section *s = c->sections;

	assert_int_equal(c->n_sections, 6);
	assert_false(c->damaged);
	assert_string_equal(s[0].name, "daemon");
	assert_memory_equal(c->src->text + s[0].span.off, "Daemon]", 7);
	assert_int_equal(s[0].span.len, 6);
	assert_int_equal(s[0].n_entries, 4);
	assert_string_equal(s[0].entries[0].key, "base");
	assert_memory_equal(c->src->text + s[0].entries[0].key_span.off, "Base=", 5);
	assert_string_equal(s[0].entries[1].key, "max-memory");
	assert_true(s[0].entries[1].has_value);
	assert_int_equal(s[0].entries[1].value.len, 0);
	assert_string_equal(s[0].entries[2].key, "flag");
	assert_false(s[0].entries[2].has_value);
	assert_string_equal(s[0].entries[3].key, "bare");
	assert_false(s[0].entries[3].has_value);
	assert_string_equal(s[1].name, "session-a_1");
	assert_int_equal(s[1].n_entries, 1);
	assert_int_equal(s[2].n_entries, 0);
	assert_string_equal(s[3].name, "man.woman");
	assert_string_equal(s[4].name, "man.Two Words");
	assert_string_equal(s[5].name, "end");
	config__free(c);
}

/* Checked against `perf config -l` of perf 6.1. */
static void values_are_those_of_perf(void **state)
{
	check_value("[a]\nb = c", "c", "c");
	check_value("[a]\nb=  c  d\t e  \n", "c  d\t e", "c d e");
	check_value("[a]\nb = c # d\n", "c", "c");
	check_value("[a]\nb = c;d\n", "c", "c");
	check_value("[a]\nb = \"c # d\"  ; e\n", "\"c # d\"", "c # d");
	check_value("[a]\nb = -e \"x  y\"z\n", "-e \"x  y\"z", "-e x  yz");
	check_value("[a]\nb = \\\"\\\\\\t\\n\\b|\n", "\\\"\\\\\\t\\n\\b|", "\"\\\t\n\b|");
	check_value("[a]\nb = \"\"\n", "\"\"", "");
	check_value("[a]\nb = \"a\\\"#\"\n", "\"a\\\"#\"", "a\"#");
	check_value("[a]\nb = -e a \\\n   b\\\nc # d \\\n", "-e a \\\n   b\\\nc", "-e a  bc");
	check_value("[a]\nb = c \\\n\n", "c", "c");
	check_value("[a]\nb = c \\", "c", "c");
	check_value("[a]\nb = \\\n c\n", "c", "c");
	check_value("[a]\nb = c = d\n", "c = d", "c = d");
	check_value("[a]\nb = [c]\n", "[c]", "[c]");
}

static void other_systems(void **state)
{
	check_value("\xef\xbb\xbf[a]\r\nb = c\r\n", "c", "c");
	check_value("[a]\r\nb = c \\\r\n\td\r\n\r\n", "c \\\r\n\td", "c  d");
	check_value("[a]\r\nb = \"c\"\r\n", "\"c\"", "c");
	config__free(parse(""));
	config__free(parse("\xef\xbb\xbf"));
	config__free(parse("# no newline"));
	config__free(parse("\n\r\n \t\n"));
	config__free(NULL);
}

static void check_errors(const char *text, size_t len, size_t n_errors)
{
	struct source_text *src = calloc(1, sizeof(*src));
	struct config *c = NULL;
	struct diags d = { 0 };
	struct buf out = { 0 };

	assert_non_null(src);
	src->name = strdup("f");
	src->text = calloc(1, len + 1);
	memcpy(src->text, text, len);
	src->len = len;
	assert_int_equal(config__parse(src, &d, &c), -EINVAL);
	assert_null(c);
	/* messages can still quote the text, although parsing failed */
	assert_int_equal(diags__format(&d, &out), 0);
	if (d.n_errors != n_errors)
		fail_msg("%s", out.data);
	buf__free(&out);
	diags__free(&d);
}

static void all_errors_are_told(void **state)
{
	static const struct {
		const char *text;
		size_t n_errors;
	} cases[] = {
		{ "[", 1 },
		{ "[a", 1 },
		{ "[a\n[b\n", 2 },
		{ "[]", 1 },
		{ "[a b]", 1 },
		{ "[a \"b]", 1 },
		{ "[a \"b\\", 1 },
		{ "[a \"b\"x]", 1 },
		{ "[a/b]\nnot told = \"\n", 1 },
		{ "x = 1\ny = 2\n[a]\nz = 3\n", 1 },
		{ "[a]\n=\n", 1 },
		{ "[a]\n1 = 2\n", 1 },
		{ "[a]\nx y = 1\n", 1 },
		{ "[a]\nx = \"y\nz = \"\n", 2 },
		{ "[a]\nx = \\y \\\n = never read\nz\n", 1 },
		{ "[a]\nx = \\", 0 },
		{ "[a]\nx = \\\xff\n", 1 },
		{ "]", 1 },
		{ "[a]\n\x01\n", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (cases[i].n_errors)
			check_errors(cases[i].text, strlen(cases[i].text), cases[i].n_errors);
		else
			config__free(parse(cases[i].text));
	}
	check_errors("[a]\nx = \0y\n[", 12, 1);
}

static void damage_is_marked(void **state)
{
	struct source_text *src;
	struct config *c;
	struct diags d = { 0 };

	assert_int_equal(source_text__from_string("f", "[a]\nx\n[b]\ny z\nw = 1\n[c", &src), 0);
	assert_int_equal(config__parse_damaged(src, &d, &c), 0);
	assert_int_equal(d.n_errors, 2);
	assert_true(c->damaged);
	assert_int_equal(c->n_sections, 2);
	assert_false(c->sections[0].damaged);
	assert_true(c->sections[1].damaged);
	assert_int_equal(c->sections[1].n_entries, 1);
	assert_string_equal(c->sections[1].entries[0].key, "w");
	config__free(c);
	diags__free(&d);
}

static void long_and_many(void **state)
{
	size_t len = 1 << 20;
	char *text = malloc(len + 1);
	struct config *c;

	assert_non_null(text);
	memset(text, 'x', len);
	text[len] = '\0';
	memcpy(text, "[a]\nb = ", 8);
	c = parse(text);
	assert_int_equal(c->sections[0].entries[0].value.len, len - 8);
	config__free(c);

	for (size_t i = 0; i < len; i += 4)
		memcpy(text + i, "[a]\n", 4);
	c = parse(text);
	assert_int_equal(c->n_sections, len / 4);
	config__free(c);

	memcpy(text, "[a]\n", 4);
	for (size_t i = 4; i < len; i += 2)
		memcpy(text + i, "b\n", 2);
	c = parse(text);
	assert_int_equal(c->sections[0].n_entries, len / 2 - 2);
	config__free(c);

	memset(text, '!', len);
	for (size_t i = 1; i < len; i += 2)
		text[i] = '\n';
	check_errors(text, len, len / 2);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_and_keys), cmocka_unit_test(values_are_those_of_perf),
		cmocka_unit_test(other_systems),     cmocka_unit_test(all_errors_are_told),
		cmocka_unit_test(damage_is_marked),  cmocka_unit_test(long_and_many),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
