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

#include "common/cleanup.h"
#include "rules/expr.h"

#define UNTOUCHED 4711

static int parse(const char *text, struct expr *ret, struct diags *d)
{
	struct source_text *src;

	assert_int_equal(source_text__from_string("f", text, &src), 0);
	diags__keep(d, src);
	return expr__parse(src, (struct span){ 0, strlen(text) }, d, ret);
}

static struct expr parse_good(const char *text)
{
	struct diags d = { 0 };
	struct expr e;

	if (parse(text, &e, &d))
		fail_msg("'%s': %s", text, d.v[0].msg);
	assert_int_equal(d.n, 0);
	diags__free(&d);
	return e;
}

static const char *const field_names[] = { "comm", "process", "pid", "tid", "uid", "cpu" };
static const char *const op_names[] = { "==", "!=", "<", "<=", ">", ">=" };

static bool is_string(unsigned int field)
{
	return field == FRBPF_FIELD_COMM || field == FRBPF_FIELD_PROCESS;
}

/* The normal form as text: conjunctions in parentheses. */
static void print(const struct expr *e, struct buf *out)
{
	buf__add_str(out, "(");
	for (uint32_t i = 0; i < e->n_nodes; i++) {
		const struct frbpf_node *n = &e->nodes[i];

		buf__printf(out, "%s%s%s", n->flags & FRBPF_NODE_CURRENT ? "current." : "",
			    field_names[n->field], op_names[n->op]);
		if (is_string(n->field))
			buf__printf(out, "'%.16s'", (const char *)n->val);
		else
			buf__printf(out, "%llu", (unsigned long long)n->val[0]);
		if (n->flags & FRBPF_NODE_END)
			buf__add_str(out, i + 1 < e->n_nodes ? ")(" : ")");
		else
			buf__add_str(out, " ");
	}
}

static void normal_forms(void **state)
{
	static const struct {
		const char *text;
		const char *form;
	} cases[] = {
		{ "cpu < 8", "(cpu<8)" },
		{ "cpu<8", "(cpu<8)" },
		{ " cpu \\\n < \t8 ", "(cpu<8)" },
		{ "pid == 0x10", "(pid==16)" },
		{ "comm == bash", "(comm=='bash')" },
		{ "comm == \"a b\"", "(comm=='a b')" },
		{ "comm == \"a\\\"\\\\b\"", "(comm=='a\"\\b')" },
		{ "comm == \"a\\\nb\"", "(comm=='ab')" },
		{ "comm == \"\"", "(comm=='')" },
		{ "comm == kworker/0:1", "(comm=='kworker/0:1')" },
		{ "comm == \"42\"", "(comm=='42')" },
		{ "process != \"fifteen-letters\"", "(process!='fifteen-letters')" },
		{ "current.comm == a && comm == b", "(current.comm=='a' comm=='b')" },
		{ "pid == 1 || tid == 2 && cpu == 3", "(pid==1)(tid==2 cpu==3)" },
		{ "(pid == 1 || tid == 2) && cpu == 3", "(pid==1 cpu==3)(tid==2 cpu==3)" },
		{ "!pid == 1", "(pid!=1)" },
		{ "!!pid == 1", "(pid==1)" },
		{ "!(pid < 1)", "(pid>=1)" },
		{ "!(pid <= 1)", "(pid>1)" },
		{ "!(pid > 1)", "(pid<=1)" },
		{ "!(pid >= 1)", "(pid<1)" },
		{ "!(comm != a)", "(comm=='a')" },
		{ "!(!(pid == 1))", "(pid==1)" },
		{ "!(pid == 1 && tid == 2)", "(pid!=1)(tid!=2)" },
		{ "!(pid == 1 || tid == 2)", "(pid!=1 tid!=2)" },
		{ "!(pid == 1 || !(tid == 2 && cpu == 3))", "(pid!=1 tid==2 cpu==3)" },
		{ "!(pid == 1) && tid == 2", "(pid!=1 tid==2)" },
		{ "((((pid == 1))))", "(pid==1)" },
		{ "uid == 4294967294", "(uid==4294967294)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct expr e = parse_good(cases[i].text);
		struct buf out = { 0 };

		print(&e, &out);
		assert_string_equal(out.data, cases[i].form);
		buf__free(&out);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *text;
		const char *at; /* the token that is to blame */
		const char *message;
	} cases[] = {
		{ "", "", "the condition is empty" },
		{ "  ", "  ", "the condition is empty" },
		{ "pidd == 1", "pidd", "did you mean 'pid'?" },
		{ "Comm == a", "Comm", "did you mean 'comm'?" },
		{ "current.pidd == 1", "current.pidd", "did you mean 'current.pid'?" },
		{ "current. == 1", "current.", "followed by a field" },
		{ "current.value == 1", "current.value", "'value' is not supported yet" },
		{ "exe == a", "exe", "not supported yet" },
		{ "ppid == 1", "ppid", "not supported yet" },
		{ "prio == 1", "prio", "not supported yet" },
		{ "comm > a", ">", "only == and !=" },
		{ "comm == 1", "1", "stands in double quotes" },
		{ "comm == 0x1f", "0x1f", "stands in double quotes" },
		{ "comm == 99999999999999999999999", "99999999999999999999999",
		  "in double quotes" },
		{ "comm == sixteen-letters-", "sixteen-letters-", "this can never match" },
		{ "comm == \"a", "\"a", "closing" },
		{ "comm == \"a\\\"", "\"a\\\"", "closing" },
		{ "comm == 'a'", "'a'", "double quotes" },
		{ "comm == ~a", "~", "globs" },
		{ "comm ~ a", "~", "globs" },
		{ "comm =~ a", "=~", "globs" },
		{ "comm !~ a", "!~", "globs" },
		{ "pid = 1", "=", "did you mean '=='?" },
		{ "pid === 1", "===", "did you mean '=='?" },
		{ "pid <> 1", "<>", "did you mean '!='?" },
		{ "pid => 1", "=>", "did you mean '>='?" },
		{ "pid is 1", "is", "did you mean '=='?" },
		{ "pid ! 1", "!", "a comparison" },
		{ "pid in (1)", "in", "not supported yet" },
		{ "pid == 1 & uid == 2", "&", "did you mean '&&'?" },
		{ "pid == 1 | uid == 2", "|", "did you mean '||'?" },
		{ "pid == 1 or uid == 2", "or", "did you mean '||'?" },
		{ "pid == 1, uid == 2", ",", "'&&' or '||' is expected" },
		{ "pid == 1 uid == 2", "uid", "'&&' or '||' is expected" },
		{ "not pid == 1", "not", "did you mean '!'?" },
		{ "pid == x", "x", "names such as 'x' are not supported yet" },
		{ "pid == 1x", "1x", "bad number" },
		{ "pid == -1", "-1", "bad number" },
		{ "pid == \"1\"", "\"1\"", "without quotes" },
		{ "pid == 4194305", "4194305", "never larger than 4194304" },
		{ "uid == 4294967295", "4294967295", "never larger than 4294967294" },
		{ "cpu == 8192", "8192", "never larger than 8191" },
		{ "pid", "", "ends where a comparison" },
		{ "pid ==", "", "ends where a value" },
		{ "pid == 1 &&", "", "ends where a field" },
		{ "!", "", "ends where a field" },
		{ "== 1", "==", "a field is expected" },
		{ "1 == pid", "1", "a field is expected" },
		{ "()", ")", "a field is expected" },
		{ "(pid == 1", "(", "the ')' of this '(' is missing" },
		{ "(pid == 1 uid == 2)", "uid", "'&&', '||' or ')' is expected" },
		{ "pid == 1)", ")", "no '('" },
		{ "pid == 1 && && uid == 2", "&& uid", "a field is expected" },
		{ "pid == (1)", "(", "a value is expected" },
		{ "pid == 1 \\x", "\\x", "&&" },
		{ "pid == 1 \x01", "\x01", "&&" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct expr e = { .n_nodes = UNTOUCHED };
		struct diags d = { 0 };
		const char *text = cases[i].text;
		size_t at = strlen(text) - strlen(cases[i].at);

		if (*cases[i].at)
			at = strstr(text, cases[i].at) - text;
		assert_int_equal(parse(text, &e, &d), -EINVAL);
		if (d.n != 1 || d.v[0].span.off != at || !strstr(d.v[0].msg, cases[i].message))
			fail_msg("'%s': %u: %s", text, d.v[0].span.off, d.v[0].msg);
		assert_int_equal(e.n_nodes, UNTOUCHED);
		diags__free(&d);
	}
}

/* Comparisons of the right form, of which several are wrong. */
static void wrong_comparisons_are_all_told(void **state)
{
	struct diags d = { 0 };
	struct expr e;

	assert_int_equal(parse("pidd == 1 && comm < a || !(cpu == x && pid == 1)", &e, &d),
			 -EINVAL);
	assert_int_equal(d.n, 3);
	diags__free(&d);
}

static void limits(void **state)
{
	static char text[1 << 20];
	struct diags d = { 0 };
	struct expr e;
	size_t len = 0;

	for (int i = 0; i < FRBPF_MAX_NODES; i++)
		len += sprintf(text + len, "%spid == %d", i ? " && " : "", i);
	e = parse_good(text);
	assert_int_equal(e.n_nodes, FRBPF_MAX_NODES);
	sprintf(text + len, " || cpu == 1");
	assert_int_equal(parse(text, &e, &d), -EINVAL);
	assert_non_null(strstr(d.v[0].msg, "split the rule in two"));
	assert_int_equal(d.v[0].span.off, len + 4);
	diags__free(&d);

	/* 2 * 2 * 3 = 12 nodes would do, 2 * 2 * 2 * 4 = 32 do not; the part is named */
	e = parse_good("(pid==1||pid==2) && (tid==1||tid==2) && cpu==1");
	assert_int_equal(e.n_nodes, 12);
	assert_int_equal(parse("uid==1 || (pid==1||pid==2) && (tid==1||tid==2) && (cpu==1||cpu==2)"
			       " && uid==2",
			       &e, &d),
			 -EINVAL);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.v[0].span.off, 10);
	assert_int_equal(d.v[0].span.len, strlen("(pid==1||pid==2) && (tid==1||tid==2) && "
						 "(cpu==1||cpu==2)"));
	assert_non_null(strstr(d.v[0].msg, "makes 24 comparisons"));
	diags__free(&d);
}

/* None of these may take long or deep recursion. */
static void hostile(void **state)
{
	static const char *const parts[] = { "(",  "!",		  "pid==1&&",  "pid==1||(",
					     "!(", "((pid==1)||", "\"",	       "a",
					     "&",  "(!(",	  "pidd==1||", "\\\n" };
	size_t size = 1 << 20;
	char *text = malloc(size + 16);

	assert_non_null(text);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct diags d = { 0 };
		size_t len = 0, n = strlen(parts[i]);
		struct expr e;

		for (; len < size; len += n)
			memcpy(text + len, parts[i], n);
		text[len] = '\0';
		assert_int_equal(parse(text, &e, &d), -EINVAL);
		assert_true(d.n >= 1);
		diags__free(&d);
	}
	free(text);
}

/* A random expression: its text, and its value by walking the tree it was made from. */
struct random_expr {
	struct expr_subject subject;
	uint64_t seed;
	struct buf text;
	int leaves;
};

static unsigned int draw(struct random_expr *r, unsigned int n)
{
	r->seed = r->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (r->seed >> 33) % n;
}

static bool holds(unsigned int op, int order)
{
	switch (op) {
	case 0:
		return order == 0;
	case 1:
		return order != 0;
	case 2:
		return order < 0;
	case 3:
		return order <= 0;
	case 4:
		return order > 0;
	default:
		return order >= 0;
	}
}

static bool random_comparison(struct random_expr *r)
{
	unsigned int field = draw(r, FRBPF_FIELD_MAX), current = draw(r, 4) == 0;
	unsigned int op = draw(r, is_string(field) ? 2 : 6), value = draw(r, 3);
	const __u64 *actual = r->subject.val[current][field];
	int order;

	buf__printf(&r->text, "%s%s %s ", current ? "current." : "", field_names[field],
		    op_names[op]);
	r->leaves++;
	if (is_string(field)) {
		char name[FRBPF_COMM_LEN] = { 0 };

		snprintf(name, sizeof(name), "name-%u-is-long", value);
		buf__printf(&r->text, "\"%s\"", name);
		order = memcmp(actual, name, sizeof(name)) != 0;
	} else {
		buf__printf(&r->text, "%u", value);
		order = actual[0] < value ? -1 : actual[0] > value;
	}
	return holds(op, order);
}

/* Operators of one level are joined without parentheses, so precedence is part of the test. */
static bool random_or(struct random_expr *r, int depth);

static bool random_unary(struct random_expr *r, int depth)
{
	bool negate = draw(r, 4) == 0, value;

	if (negate)
		buf__add_str(&r->text, "!");
	if (depth && draw(r, 2)) {
		buf__add_str(&r->text, "(");
		value = random_or(r, depth - 1);
		buf__add_str(&r->text, ")");
	} else {
		value = random_comparison(r);
	}
	return value != negate;
}

static bool random_and(struct random_expr *r, int depth)
{
	bool value = random_unary(r, depth);

	while (draw(r, 5) < 2) {
		buf__add_str(&r->text, " && ");
		value &= random_unary(r, depth);
	}
	return value;
}

static bool random_or(struct random_expr *r, int depth)
{
	bool value = random_and(r, depth);

	while (draw(r, 5) < 2) {
		buf__add_str(&r->text, " || ");
		value |= random_and(r, depth);
	}
	return value;
}

static void random_subject(struct random_expr *r)
{
	for (int who = 0; who < 2; who++) {
		for (unsigned int field = 0; field < FRBPF_FIELD_MAX; field++) {
			char name[FRBPF_COMM_LEN] = { 0 };

			snprintf(name, sizeof(name), "name-%u-is-long", draw(r, 3));
			if (is_string(field))
				memcpy(r->subject.val[who][field], name, sizeof(name));
			else
				r->subject.val[who][field][0] = draw(r, 3);
		}
	}
}

static void evaluation_is_that_of_the_text(void **state)
{
	struct random_expr r = { .seed = 20240229 };
	int parsed = 0, held = 0, several = 0;

	for (int i = 0; i < 100000; i++) {
		struct diags d = { 0 };
		struct expr e;
		bool expected;

		random_subject(&r);
		r.leaves = 0;
		r.text.len = 0;
		expected = random_or(&r, 3);
		if (parse(r.text.data, &e, &d)) {
			/* the only reason there may be */
			if (!strstr(d.v[0].msg, "split the rule in two"))
				fail_msg("'%s': %s", r.text.data, d.v[0].msg);
		} else {
			if (expr__eval(&e, &r.subject) != expected)
				fail_msg("'%s' is %d", r.text.data, expected);
			assert_true(e.nodes[e.n_nodes - 1].flags & FRBPF_NODE_END);
			assert_true(e.n_nodes >= (uint32_t)r.leaves);
			parsed++;
			held += expected;
			several += r.leaves > 3;
		}
		diags__free(&d);
	}
	buf__free(&r.text);
	assert_true(parsed > 50000);
	assert_in_range(held, parsed / 4, parsed / 4 * 3);
	assert_true(several > 10000);
}

static void nothing_is_always_true(void **state)
{
	struct expr_subject s = { 0 };
	struct expr e = { 0 };

	assert_true(expr__eval(&e, &s));
}

static void field_table(void **state)
{
	unsigned int n = 0;

	for (const struct expr_field_desc *f = expr_fields; f->name; f++, n++) {
		assert_string_equal(f->name, field_names[f->field]);
		assert_int_equal(f->is_string, is_string(f->field));
		assert_non_null(f->meaning);
	}
	assert_int_equal(n, FRBPF_FIELD_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normal_forms),
		cmocka_unit_test(refused),
		cmocka_unit_test(wrong_comparisons_are_all_told),
		cmocka_unit_test(limits),
		cmocka_unit_test(hostile),
		cmocka_unit_test(evaluation_is_that_of_the_text),
		cmocka_unit_test(nothing_is_always_true),
		cmocka_unit_test(field_table),
	};

	return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
