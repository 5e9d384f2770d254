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

#include "expr_fixture.h"

#define UNTOUCHED 4711

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

static bool has_string(const struct frbpf_node *n)
{
	return n->op == FRBPF_OP_GLOB || n->op == FRBPF_OP_NO_GLOB ||
	       field_desc(n->field)->type == EXPR_PATH || field_desc(n->field)->type == EXPR_EXE ||
	       field_desc(n->field)->type == EXPR_NAME;
}

/* The normal form as text, with conjunctions in parentheses. */
static void print_expr(const struct expr *e, struct buf *out)
{
	buf__add_str(out, "(");
	for (uint32_t i = 0; i < e->n_nodes; i++) {
		const struct frbpf_node *n = &e->nodes[i];

		buf__printf(out, "%s%s%s", n->flags & FRBPF_NODE_CURRENT ? "current." : "",
			    field_desc(n->field)->name, op_names[n->op]);
		if (has_string(n))
			buf__printf(out, "'%s'", e->strings[n->val[0]]);
		else if (field_desc(n->field)->type == EXPR_STRING)
			buf__printf(out, "'%.16s'", (const char *)n->val);
		else
			buf__printf(out, "%lld", (long long)n->val[0]);
		if (n->flags & FRBPF_NODE_END)
			buf__add_str(out, i + 1 < e->n_nodes ? ")(" : ")");
		else
			buf__add_str(out, " ");
	}
}

static const struct {
	const char *text;
	const char *form;
} forms[] = {
	{ "cpu < 8", "(cpu<8)" },
	{ "cpu<8", "(cpu<8)" },
	{ " cpu \\\n < \t8 ", "(cpu<8)" },
	{ "pid == 0x10", "(pid==16)" },
	{ "pid < 4K && tid >= 1.5M", "(pid<4096 tid>=1572864)" },
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
	{ "cpu in (1, 2,3)", "(cpu==1)(cpu==2)(cpu==3)" },
	{ "cpu in(1)", "(cpu==1)" },
	{ "!(cpu in (1, 2))", "(cpu!=1 cpu!=2)" },
	{ "!cpu in (1, 2)", "(cpu!=1 cpu!=2)" },
	{ "comm in (a, \"b c\") && uid == 0", "(comm=='a' uid==0)(comm=='b c' uid==0)" },
	{ "current.comm in (a)", "(current.comm=='a')" },
	{ "cpu & 0x6", "(cpu&6)" },
	{ "!(cpu & 6)", "(cpu!&6)" },
	{ "comm ~ \"post*\"", "(comm~'post*')" },
	{ "comm ~ post* && !process ~ \"[!a]?\"", "(comm~'post*' process!~'[!a]?')" },
	{ "prio < 100", "(prio<100)" },
	{ "prio == -1", "(prio==-1)" },
	{ "current.ppid == 1", "(current.ppid==1)" },
	{ "value > 1.5ms", "(value>1500000)" },
	{ "ret == -EAGAIN", "(ret==-11)" },
	{ "ret in (EAGAIN, EINTR, -7)", "(ret==-11)(ret==-4)(ret==-7)" },
	{ "ret >= 0", "(ret>=0)" },
	{ "syscall == read", "(syscall==0)" },
	{ "state == D", "(state==2)" },
	{ "cgroup == \"/a/b/\"", "(cgroup=='/a/b')" },
	{ "!(current.cgroup == /)", "(current.cgroup!='/')" },
};

static void normal_forms(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct expr e = parse_good(forms[i].text);
		struct buf out = { 0 };

		print_expr(&e, &out);
#ifndef __x86_64__
		if (strstr(forms[i].text, "syscall =="))
			continue;
#endif
		assert_string_equal(out.data, forms[i].form);
		buf__free(&out);
		expr__free(&e);
	}
}

static const struct {
	const char *text;
	const char *at; /* the wrong token */
	const char *message;
} refusals[] = {
	{ "", "", "the condition is empty" },
	{ "  ", "  ", "the condition is empty" },
	{ "pidd == 1", "pidd", "did you mean 'pid'?" },
	{ "Comm == a", "Comm", "did you mean 'comm'?" },
	{ "current.pidd == 1", "current.pidd", "did you mean 'current.pid'?" },
	{ "current. == 1", "current.", "must follow 'current'" },
	{ "current.value == 1ms", "current.value", "without 'current.'" },
	{ "comm > a", ">", "only ==, !=, ~ and in" },
	{ "comm & 1", "&", "only ==, !=, ~ and in" },
	{ "cpu ~ 1", "~", "~ does not apply" },
	{ "value & 1ms", "&", "~ and & do not apply" },
	{ "value > 5", "5", "a unit is missing" },
	{ "value > \"5ms\"", "\"5ms\"", "without quotes" },
	{ "cgroup > /a", ">", "only ==, !=, ~ and in" },
	{ "cgroup == a", "a", "is a path" },
	{ "cgroup == /a/../b", "/a/../b", "is a path" },
	{ "cgroup == /1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16",
	  "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16", "16 levels deep" },
	{ "cpu & 0", "0", "no bit is set" },
	{ "prio > 141", "141", "never larger than 140" },
	{ "prio > -2", "-2", "never smaller than -1" },
	{ "ret == EAGIAN", "EAGIAN", "did you mean 'EAGAIN'?" },
	{ "syscall == raed", "raed", "did you mean 'read'?" },
	{ "syscall == 512", "512", "never larger than 511" },
	{ "state == Q", "Q", "no value named 'Q': use one of R S D T" },
	{ "ret == GAIN", "GAIN", "did you mean 'EAGAIN'?" },
	{ "comm ~ \"[a\"", "\"[a\"", "the ']' of a '[' is missing" },
	{ "comm ~ sixteen-letters-?", "sixteen-letters-?", "can never match" },
	{ "cpu in 1", "1", "a list of values" },
	{ "cpu in ()", ")", "a value is expected" },
	{ "cpu in (1,)", ")", "a value is expected" },
	{ "cpu in (1 2)", "2)", "',' or ')' is expected" },
	{ "cpu in (1", "", "ends where ',' or ')'" },
	{ "cpu in (1, x)", "x", "'x' is not one" },
	{ "comm == 1", "1", "needs double quotes" },
	{ "comm == 0x1f", "0x1f", "needs double quotes" },
	{ "comm == 99999999999999999999999", "99999999999999999999999", "needs double quotes" },
	{ "comm == sixteen-letters-", "sixteen-letters-", "this can never match" },
	{ "comm == \"a", "\"a", "closing" },
	{ "comm == \"a\\\"", "\"a\\\"", "closing" },
	{ "comm == 'a'", "'a'", "double quotes" },
	{ "comm == ~a", "~", "between a field and its pattern" },
	{ "comm =~ a", "=~", "did you mean '~'?" },
	{ "comm !~ a", "!~", "write !(FIELD ~ PATTERN)" },
	{ "pid = 1", "=", "did you mean '=='?" },
	{ "pid === 1", "===", "did you mean '=='?" },
	{ "pid <> 1", "<>", "did you mean '!='?" },
	{ "pid => 1", "=>", "did you mean '>='?" },
	{ "pid is 1", "is", "did you mean '=='?" },
	{ "pid ! 1", "!", "a comparison" },
	{ "pid == 1 & uid == 2", "&", "did you mean '&&'?" },
	{ "pid == 1 | uid == 2", "|", "did you mean '||'?" },
	{ "pid == 1 or uid == 2", "or", "did you mean '||'?" },
	{ "pid == 1, uid == 2", ",", "'&&' or '||' is expected" },
	{ "pid == 1 uid == 2", "uid", "'&&' or '||' is expected" },
	{ "not pid == 1", "not", "did you mean '!'?" },
	{ "exe == b", "b", "*/NAME" },
	{ "exe == \"*/a\"", "\"*/a\"", "begins with '/'" },
	{ "exe < /a", "<", "only ==, !=, ~ and in" },
	{ "cgroup ~ \"a*\"", "\"a*\"", "begins with '/'" },
	{ "cgroup < /a", "<", "only ==, !=, ~ and in" },
	{ "exe ~ \"/[a\"", "\"/[a\"", "']'" },
	{ "pid == x", "x", "'pid' is a number, and 'x' is not one" },
	{ "pid == 1x", "1x", "bad number" },
	{ "pid == 1T", "1T", "bad number" },
	{ "pid == 4G", "4G", "'pid' is never larger than 4194304" },
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

static void refused(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct expr e = { .n_nodes = UNTOUCHED };
		struct diags d = { 0 };
		const char *text = refusals[i].text;
		size_t at = strlen(text) - strlen(refusals[i].at);

		if (*refusals[i].at)
			at = strstr(text, refusals[i].at) - text;
		assert_int_equal(parse(text, &e, &d), -EINVAL);
		if (d.n != 1 || d.v[0].span.off != at || !strstr(d.v[0].msg, refusals[i].message))
			fail_msg("'%s': %u: %s", text, d.v[0].span.off, d.v[0].msg);
		assert_int_equal(e.n_nodes, UNTOUCHED);
		diags__free(&d);
	}
}

/* All wrong comparisons of one condition are reported. */
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

	/* 2 * 2 conjunctions of 3 nodes fit; 2 * 2 * 2 of 3 do not: the error names that part */
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
	assert_non_null(strstr(d.v[0].msg, "each alternative of '(pid==1||pid==2)'"));
	diags__free(&d);
}

/* None of these may take long, or recurse deeply. */
static void hostile(void **state)
{
	static const char *const parts[] = { "(",	   "!",		  "pid==1&&",  "pid==1||(",
					     "!(",	   "((pid==1)||", "\"",	       "a",
					     "&",	   "(!(",	  "pidd==1||", "\\\n",
					     "pid in (1,", "comm~a||",	  "comm~[" };
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

static void empty_condition_is_true(void **state)
{
	struct expr_subject s = { 0 };
	struct expr e = { 0 };

	assert_true(expr__eval(&e, &s));
}

static void field_table(void **state)
{
	unsigned int n = 0, seen = 0;

	for (const struct expr_field_desc *f = expr_fields; f->name; f++, n++) {
		struct field_scope scope = { .source = f->sources ? __builtin_ctz(f->sources) : 0 };

		seen |= 1 << f->field;
		assert_ptr_equal(expr_field__find(&scope, f->name, strlen(f->name)), f);
		assert_non_null(f->meaning);
		assert_true(f->min <= f->max);
	}
	/* `cgroup` has a second field, because its values have two forms */
	seen |= 1 << FRBPF_FIELD_CGROUP_PATH;
	assert_true(n >= FRBPF_FIELD_ARG - 1);
	assert_int_equal(seen & ((1 << FRBPF_FIELD_ARG) - 1), (1 << FRBPF_FIELD_ARG) - 1);
}

static void fields_of_other_sources(void **state)
{
	struct field_scope scope = { .source = FRBPF_SOURCE_SYSCALL };
	struct source_text *src;
	struct diags d = { 0 };
	struct expr e;

	assert_int_equal(source_text__from_string("f", "ret < 0 || state == D", &src), 0);
	assert_int_equal(expr__parse(src, (struct span){ 0, src->len }, &scope, &d, &e), -EINVAL);
	assert_int_equal(d.n, 1);
	assert_string_equal(d.v[0].msg,
			    "'syscall' has no field 'state': use one of comm process "
			    "exe pid tid ppid uid cgroup prio cpu value ret syscall path "
			    "peer port family");
	assert_int_equal(d.v[0].span.off, 11);
	scope.source = FRBPF_SOURCE_RUNQLAT;
	assert_int_equal(expr__parse(src, (struct span){ 0, src->len }, &scope, &d, &e), -EINVAL);
	assert_int_equal(d.n, 3);
	diags__keep(&d, src);
	diags__free(&d);
}

/* Fields that frbpf does not know are kept as written, and parsed once their type is known. */
static void arguments(void **state)
{
	static const char text[] = "!(rq.dev ~ \"sd*\") && (len > 4x || len in (1, 2)) && cpu < 8";
	static const struct expr_field_desc string = { "rq.dev", FRBPF_FIELD_ARG, EXPR_STRING };
	static const struct expr_field_desc number = { "len", FRBPF_FIELD_ARG + 1, EXPR_NUMBER, 0,
						       1 << 20 };
	struct rule_args args = { .n = 0 };
	struct field_scope scope = { .source = FRBPF_SOURCE_TRACEPOINT, .args = &args };
	struct expr_subject s = { 0 };
	struct source_text *src;
	struct diags d = { 0 };
	struct expr e;

	assert_int_equal(source_text__from_string("f", text, &src), 0);
	assert_int_equal(expr__parse(src, (struct span){ 0, src->len }, &scope, &d, &e), 0);
	assert_int_equal(args.n, 2);
	assert_string_equal(args.v[0].name, "rq.dev");
	assert_string_equal(args.v[1].name, "len");
	assert_int_equal(args.v[1].at.off, 22);
	assert_int_equal(expr__bind(&e, 0, &string, src, &d), 0);
	assert_int_equal(expr__bind(&e, 1, &number, src, &d), -EINVAL);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.v[0].span.off, 28);
	expr__free(&e);
	rule_args__free(&args);
	src->text[29] = '9'; /* len > 49 */
	assert_int_equal(expr__parse(src, (struct span){ 0, src->len }, &scope, &d, &e), 0);
	assert_int_equal(expr__bind(&e, 0, &string, src, &d), 0);
	assert_int_equal(expr__bind(&e, 1, &number, src, &d), 0);
	strcpy((char *)s.val[0][FRBPF_FIELD_ARG], "nvme0n1");
	for (int i = 0; i < 60; i++) {
		s.val[0][FRBPF_FIELD_ARG + 1][0] = i;
		assert_int_equal(expr__eval(&e, &s), i == 1 || i == 2 || i > 49);
	}
	strcpy((char *)s.val[0][FRBPF_FIELD_ARG], "sda");
	assert_false(expr__eval(&e, &s));
	expr__free(&e);
	rule_args__free(&args);
	diags__keep(&d, src);
	diags__free(&d);
}

/* ---- addresses ---- */

static int bind_address(const char *text, enum expr_type type, struct expr *ret, char *said,
			size_t size)
{
	struct expr_field_desc field = { .name = "addr", .field = FRBPF_FIELD_ARG, .type = type };
	struct rule_args args = { .n = 0 };
	struct field_scope scope = { .source = FRBPF_SOURCE_TRACEPOINT, .args = &args };
	struct source_text *src;
	struct diags d = { 0 };
	int err;

	assert_int_equal(source_text__from_string("f", text, &src), 0);
	err = expr__parse(src, (struct span){ 0, src->len }, &scope, &d, ret);
	if (!err)
		err = expr__bind(ret, 0, &field, src, &d);
	snprintf(said, size, "%s", d.n ? d.v[0].msg : "");
	diags__free(&d);
	rule_args__free(&args);
	source_text__free(src);
	return err;
}

static void addresses_and_prefixes(void **state)
{
	static const struct {
		const char *text;
		enum expr_type type;
		uint64_t address[2];
		bool holds;
	} cases[] = {
		{ "addr == 10.77.0.1", EXPR_IPV4, { 0x0a4d0001ULL << 32 }, true },
		{ "addr == 10.77.0.1", EXPR_IPV4, { 0x0a4d0002ULL << 32 }, false },
		{ "addr == 10.0.0.0/8", EXPR_IPV4, { 0x0a4d0002ULL << 32 }, true },
		{ "addr == 10.0.0.0/8", EXPR_IPV4, { 0x0b4d0002ULL << 32 }, false },
		{ "addr != 10.0.0.0/8", EXPR_IPV4, { 0x0b4d0002ULL << 32 }, true },
		{ "!(addr == 10.0.0.0/8)", EXPR_IPV4, { 0x0a000002ULL << 32 }, false },
		{ "!(addr != 10.0.0.0/8)", EXPR_IPV4, { 0x0a000002ULL << 32 }, true },
		{ "addr == 0.0.0.0/0", EXPR_IPV4, { 0x0b4d0002ULL << 32 }, true },
		{ "addr == \"10.77.0.128/25\"", EXPR_IPV4, { 0x0a4d0081ULL << 32 }, true },
		{ "addr == 10.77.0.128/25", EXPR_IPV4, { 0x0a4d0001ULL << 32 }, false },
		{ "addr in (1.2.3.4, 10.0.0.0/8)", EXPR_IPV4, { 0x0a4d0001ULL << 32 }, true },
		{ "addr == ::1", EXPR_IPV6, { 0, 1 }, true },
		{ "addr == ::1", EXPR_IPV6, { 1, 1 }, false },
		{ "addr == 2001:db8::/32", EXPR_IPV6, { 0x20010db8ffff0000, 7 }, true },
		{ "addr == 2001:db8::/32", EXPR_IPV6, { 0x20010db9ffff0000, 7 }, false },
		{ "addr == 2001:db8::/64", EXPR_IPV6, { 0x20010db800000000, ~0ULL }, true },
		{ "addr == 2001:db8::8000:0:0:0/65",
		  EXPR_IPV6,
		  { 0x20010db800000000, 1ULL << 63 },
		  true },
		{ "addr == 2001:db8::8000:0:0:0/65", EXPR_IPV6, { 0x20010db800000000, 1 }, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct expr_subject s = { 0 };
		struct expr e;
		char said[256];

		if (bind_address(cases[i].text, cases[i].type, &e, said, sizeof(said)))
			fail_msg("%s: %s", cases[i].text, said);
		s.val[0][FRBPF_FIELD_ARG][0] = cases[i].address[0];
		s.val[0][FRBPF_FIELD_ARG][1] = cases[i].address[1];
		if (expr__eval(&e, &s) != cases[i].holds)
			fail_msg("case %zu, %s", i, cases[i].text);
		expr__free(&e);
	}
}

static void bad_addresses(void **state)
{
	static const struct {
		const char *text;
		enum expr_type type;
		const char *message; /* part of the message */
	} cases[] = {
		{ "addr == 10.0.0.1/8", EXPR_IPV4, "bits after the first 8" },
		{ "addr == 10.0.0.0/33", EXPR_IPV4, "the number after '/' must be 0 to 32" },
		{ "addr == 10.0.0.0/", EXPR_IPV4, "the number after '/'" },
		{ "addr == 10.0.0", EXPR_IPV4, "an IPv4 address, and '10.0.0' is not one" },
		{ "addr == ::1", EXPR_IPV4, "an IPv4 address" },
		{ "addr == 10.0.0.1", EXPR_IPV6, "an IPv6 address" },
		{ "addr == 2001:db8::/129", EXPR_IPV6, "0 to 128" },
		{ "addr == 2001:db8::1/64", EXPR_IPV6, "bits after the first 64" },
		{ "addr < 10.0.0.1", EXPR_IPV4, "only ==, != and in" },
		{ "addr ~ \"10.*\"", EXPR_IPV4, "only ==, != and in" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct expr e = { .n_nodes = 0 };
		char said[256];

		if (!bind_address(cases[i].text, cases[i].type, &e, said, sizeof(said)))
			fail_msg("%s is accepted", cases[i].text);
		if (!strstr(said, cases[i].message))
			fail_msg("%s: %s", cases[i].text, said);
		expr__free(&e);
	}
}

/* The requirement of a cgroup is added to each alternative. */
static void test_require_cgroup(void **state)
{
	static const struct {
		const char *text;
		const char *fields; /* of each node, c: the cgroup; | ends an alternative */
	} cases[] = {
		{ "", "c|" },
		{ "pid == 1", "cp|" },
		{ "pid == 1 && (cpu == 2 || comm ~ \"a*\")", "cpo|cpo|" },
		{ "pid == 1 || pid == 2 || cgroup == \"/x\"", "cp|cp|cc|" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct diags d = { 0 };
		struct expr e = { 0 };
		char got[64] = "";
		size_t n = 0;

		if (cases[i].text[0])
			assert_int_equal(parse(cases[i].text, &e, &d), 0);
		assert_int_equal(expr__require_cgroup(&e, "/g"), 0);
		for (uint32_t k = 0; k < e.n_nodes; k++) {
			const struct frbpf_node *node = &e.nodes[k];

			got[n++] = node->field == FRBPF_FIELD_CGROUP ? 'c'
				   : node->field == FRBPF_FIELD_PID  ? 'p'
								     : 'o';
			if (node->flags & FRBPF_NODE_END)
				got[n++] = '|';
		}
		assert_string_equal(got, cases[i].fields);
		assert_string_equal(e.strings[e.n_strings - 1], "/g");
		expr__free(&e);
		diags__free(&d);
	}
}

static void test_require_cgroup_of_too_many(void **state)
{
	struct expr e = { 0 };
	struct diags d = { 0 };

	assert_int_equal(parse("pid == 1 || pid == 2 || pid == 3 || pid == 4 || pid == 5 || "
			       "pid == 6 || pid == 7 || pid == 8 || pid == 9",
			       &e, &d),
			 0);
	assert_int_equal(expr__require_cgroup(&e, "/g"), -E2BIG);
	assert_int_equal(e.n_nodes, 9);
	expr__free(&e);
	diags__free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_require_cgroup),
		cmocka_unit_test(test_require_cgroup_of_too_many),
		cmocka_unit_test(normal_forms),
		cmocka_unit_test(refused),
		cmocka_unit_test(wrong_comparisons_are_all_told),
		cmocka_unit_test(limits),
		cmocka_unit_test(hostile),
		cmocka_unit_test(empty_condition_is_true),
		cmocka_unit_test(field_table),
		cmocka_unit_test(fields_of_other_sources),
		cmocka_unit_test(arguments),
		cmocka_unit_test(addresses_and_prefixes),
		cmocka_unit_test(bad_addresses),
	};

	return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
