// SPDX-License-Identifier: GPL-2.0-only
/* Random conditions: the normal form holds exactly when the text does. */
#include <stdio.h>
#include <stdlib.h>

#include "common/buf.h"
#include "expr_fixture.h"

/*
 * A random expression: its text, and its value, computed by walking the tree that the text was made
 * from.
 */
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

static const char *const patterns[] = { "name-1*", "*[0-1]-is-*", "n?me-[!0]*g", "*", "name" };
/* which of the three names each pattern matches */
static const unsigned int pattern_fits[] = { 1 << 1, 3, 6, 7, 0 };
static const char *const paths[] = { "/", "/a", "/a/b", "/ab" };

static unsigned int number_of(const __u64 *name)
{
	return ((const char *)name)[5] - '0';
}

static bool random_glob(struct random_expr *r, const __u64 *actual)
{
	unsigned int i = draw(r, ARRAY_SIZE(patterns));

	buf__printf(&r->text, "~ \"%s\"", patterns[i]);
	return pattern_fits[i] >> number_of(actual) & 1;
}

static bool random_path(struct random_expr *r, const char *actual)
{
	const char *path = paths[draw(r, ARRAY_SIZE(paths))];
	size_t len = strlen(path);

	buf__printf(&r->text, "== %s", path);
	return len == 1 || (!strncmp(actual, path, len) && (!actual[len] || actual[len] == '/'));
}

static bool random_list(struct random_expr *r, __u64 actual, const char *unit)
{
	unsigned int n = 1 + draw(r, 3);
	bool in = false;

	buf__add_str(&r->text, "in (");
	for (unsigned int i = 0; i < n; i++) {
		unsigned int value = draw(r, 3);

		buf__printf(&r->text, "%s%u%s", i ? ", " : "", value, unit);
		in |= value == actual;
	}
	buf__add_str(&r->text, ")");
	r->leaves += n - 1;
	return in;
}

static bool random_comparison(struct random_expr *r)
{
	const struct expr_field_desc *f = field_desc(draw(r, FRBPF_FIELD_ARG));
	unsigned int current = !f->of_event && draw(r, 4) == 0, value = draw(r, 3);
	const __u64 *actual = r->subject.val[current][f->field];
	const char *unit = f->type == EXPR_DURATION ? "ns" : "";
	unsigned int op = draw(r, f->type == EXPR_STRING ? 2 : 6);
	int order;

	r->leaves++;
	buf__printf(&r->text, "%s%s ", current ? "current." : "", f->name);
	if (f->type == EXPR_PATH)
		return random_path(r, r->subject.cgroup[current]);
	if (f->type == EXPR_EXE || f->type == EXPR_NAME) {
		buf__printf(&r->text, "== %s", paths[value]);
		return !strcmp(paths[value],
			       f->type == EXPR_EXE ? r->subject.exe[current] : r->subject.path);
	}
	if (f->type == EXPR_STRING && draw(r, 3) == 0)
		return random_glob(r, actual);
	if (f->type != EXPR_STRING && draw(r, 4) == 0)
		return random_list(r, actual[0], unit);
	if (f->type == EXPR_NUMBER && draw(r, 5) == 0) {
		buf__printf(&r->text, "& %u", value + 1);
		return actual[0] & (value + 1);
	}
	buf__printf(&r->text, "%s ", op_names[op]);
	if (f->type == EXPR_STRING) {
		buf__printf(&r->text, "\"name-%u-is-long\"", value);
		order = number_of(actual) != value;
	} else {
		buf__printf(&r->text, "%u%s", value, unit);
		order = actual[0] < value ? -1 : actual[0] > value;
	}
	return holds(op, order);
}

/* Operators of one level are joined without parentheses, which tests precedence. */
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
		for (unsigned int field = 0; field < FRBPF_FIELD_ARG; field++) {
			char name[FRBPF_COMM_LEN] = { 0 };

			snprintf(name, sizeof(name), "name-%u-is-long", draw(r, 3));
			if (field_desc(field)->type == EXPR_STRING)
				memcpy(r->subject.val[who][field], name, sizeof(name));
			else
				r->subject.val[who][field][0] = draw(r, 3);
		}
		r->subject.cgroup[who] = paths[draw(r, ARRAY_SIZE(paths))];
		r->subject.exe[who] = paths[draw(r, ARRAY_SIZE(paths))];
	}
	r->subject.path = paths[draw(r, ARRAY_SIZE(paths))];
}

static void normal_form_agrees_with_the_text(void **state)
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
			/* the only legal reason */
			if (!strstr(d.v[0].msg, "a rule has at most"))
				fail_msg("'%s': %s", r.text.data, d.v[0].msg);
		} else {
			if (expr__eval(&e, &r.subject) != expected)
				fail_msg("'%s' is %d", r.text.data, expected);
			assert_true(e.nodes[e.n_nodes - 1].flags & FRBPF_NODE_END);
			assert_true(e.n_nodes >= (uint32_t)r.leaves);
			parsed++;
			held += expected;
			several += r.leaves > 3;
			expr__free(&e);
		}
		diags__free(&d);
	}
	buf__free(&r.text);
	assert_true(parsed > 50000);
	assert_in_range(held, parsed / 4, parsed / 4 * 3);
	assert_true(several > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normal_form_agrees_with_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
