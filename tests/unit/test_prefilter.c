// SPDX-License-Identifier: GPL-2.0-only
/*
 * The prefilter passes every event for which a condition holds. It drops others if the rules have
 * something in common. If it decides alone, each event that passes matches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "detect/engine/prefilter.h"
#include "rules/expr.h"
#include "random_draw.h"

#define ROUNDS	  20000
#define EVENTS	  20
#define MAX_RULES 4

static const int64_t numbers[] = {
	INT64_MIN, INT64_MIN + 1, -65,		 -64,	   -1, 0, 1, 2, 3, 62, 63, 64,
	65,	   4096,	  INT64_MAX - 1, INT64_MAX
};
static const char *const names[] = { "", "a", "ab", "abc", "nginx", "nginx-worker-12" };
static const char *const patterns[] = { "a*", "*", "nginx*", "n?inx", "abc", "a[bc]*", "nginx-w*" };
static const uint8_t fields[] = { FRBPF_FIELD_COMM, FRBPF_FIELD_PID, FRBPF_FIELD_TID,
				  FRBPF_FIELD_UID,  FRBPF_FIELD_CPU, FRBPF_FIELD_ARG,
				  FRBPF_FIELD_ARG,  FRBPF_FIELD_ARG, FRBPF_FIELD_ARG + 1 };

static struct frbpf_node random_node(void)
{
	struct frbpf_node n = { .field = PICK(fields) };

	if (n.field != FRBPF_FIELD_COMM) {
		n.op = draw(FRBPF_OP_NO_BITS + 1);
		n.val[0] = PICK(numbers);
	} else if (draw(2)) {
		n.op = draw(2) ? FRBPF_OP_GLOB : FRBPF_OP_NO_GLOB;
		n.val[0] = draw(ARRAY_SIZE(patterns));
	} else {
		n.op = draw(3) ? FRBPF_OP_EQ : FRBPF_OP_NE;
		strncpy((char *)n.val, PICK(names), FRBPF_COMM_LEN - 1);
	}
	if (!draw(8))
		n.flags = FRBPF_NODE_CURRENT;
	return n;
}

static void random_rule(struct frbpf_rule *rule, struct expr *e)
{
	memset(rule, 0, sizeof(*rule));
	memset(e, 0, sizeof(*e));
	rule->flags = FRBPF_RULE_HIT;
	rule->n_nodes = draw(20) ? 1 + draw(4) : 0;
	for (uint32_t i = 0; i < rule->n_nodes; i++) {
		rule->nodes[i] = random_node();
		if (!draw(3) || i + 1 == rule->n_nodes)
			rule->nodes[i].flags |= FRBPF_NODE_END;
	}
	e->n_nodes = rule->n_nodes;
	memcpy(e->nodes, rule->nodes, sizeof(e->nodes));
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
		e->strings[i] = (char *)patterns[i];
}

/* The subject as programs see it: with undefined bytes after the NUL of its name. */
static void random_event(struct expr_subject *s, __u64 (*raw)[2])
{
	char *comm;

	memset(s, 0, sizeof(*s));
	for (int who = 0; who < 2; who++) {
		for (int f = 0; f < FRBPF_FIELD_MAX; f++)
			s->val[who][f][0] = PICK(numbers);
		s->val[who][FRBPF_FIELD_COMM][0] = 0;
		strncpy((char *)s->val[who][FRBPF_FIELD_COMM], PICK(names), FRBPF_COMM_LEN - 1);
	}
	memcpy(raw, s->val[0], sizeof(s->val[0]));
	comm = (char *)raw[FRBPF_FIELD_COMM];
	for (size_t i = strlen(comm) + 1; i < FRBPF_COMM_LEN - 1; i++)
		comm[i] = draw(256);
}

static void test_nothing_is_lost(void **state)
{
	struct frbpf_rule rules[MAX_RULES];
	__u64 raw[FRBPF_FIELD_MAX][2];
	struct expr exprs[MAX_RULES];
	size_t held = 0, kept_out = 0, decided = 0;
	struct expr_subject s;
	struct frbpf_prefilter g;

	for (int round = 0; round < ROUNDS; round++) {
		unsigned int n = 1 + draw(MAX_RULES);

		for (unsigned int i = 0; i < n; i++)
			random_rule(&rules[i], &exprs[i]);
		prefilter__make(rules, n, patterns, 0, &g);
		for (int k = 0; k < EVENTS; k++) {
			bool holds = false;

			random_event(&s, raw);
			for (unsigned int i = 0; i < n; i++)
				holds = holds || expr__eval(&exprs[i], &s);
			if (holds)
				assert_true(prefilter__passes(&g, raw));
			if (g.decides)
				assert_int_equal(prefilter__passes(&g, raw), holds);
			held += holds;
			kept_out += !prefilter__passes(&g, raw);
			decided += g.decides;
		}
	}
	print_message("%zu events held, %zu of %d were kept out, the prefilter decides of %zu\n",
		      held, kept_out, ROUNDS * EVENTS, decided);
	assert_true(held > ROUNDS);
	assert_true(kept_out > ROUNDS);
	assert_true(decided > ROUNDS / 2);
}

static bool passes(const struct frbpf_prefilter *g, uint8_t field, int64_t v)
{
	__u64 val[FRBPF_FIELD_MAX][2] = { { 0 } };

	val[field][0] = v;
	return prefilter__passes(g, val);
}

#define ARG(i_, op_, v_)                                                                           \
	{                                                                                          \
		.field = FRBPF_FIELD_ARG + (i_), .op = FRBPF_OP_##op_, .val = { v_ }               \
	}

/* Rules on different values of one argument: other values are dropped. */
static void test_values(void **state)
{
	struct frbpf_rule rules[3] = {
		{ .n_nodes = 1, .nodes = { ARG(0, EQ, 10) } },
		{ .n_nodes = 2, .nodes = { ARG(0, EQ, 20), ARG(1, GT, 5) } },
		{ .n_nodes = 1, .nodes = { ARG(0, EQ, 12) } },
	};
	struct frbpf_prefilter g;

	rules[0].nodes[0].flags = rules[1].nodes[1].flags = rules[2].nodes[0].flags =
		FRBPF_NODE_END;
	prefilter__make(rules, 3, NULL, 0, &g);
	for (int i = -100; i < 100; i++)
		assert_int_equal(passes(&g, FRBPF_FIELD_ARG, i), i == 10 || i == 12 || i == 20);
	rules[2].n_nodes = 0; /* always true */
	prefilter__make(rules, 3, NULL, 0, &g);
	assert_true(passes(&g, FRBPF_FIELD_ARG, 11));
	prefilter__make(rules, 0, NULL, 0, &g);
	assert_true(passes(&g, FRBPF_FIELD_ARG, 11));
}

static void test_ranges(void **state)
{
	struct frbpf_rule rule = { .n_nodes = 2, .nodes = { ARG(2, GE, -3), ARG(2, LT, 100) } };
	struct frbpf_prefilter g;

	rule.nodes[1].flags = FRBPF_NODE_END;
	prefilter__make(&rule, 1, NULL, 0, &g);
	for (int i = -200; i < 200; i++)
		assert_int_equal(passes(&g, FRBPF_FIELD_ARG + 2, i), i >= -3 && i < 100);
	rule.n_nodes = 1;
	rule.nodes[0] = (struct frbpf_node)ARG(2, NE, -3);
	rule.nodes[0].flags = FRBPF_NODE_END;
	prefilter__make(&rule, 1, NULL, 0, &g);
	for (int i = -200; i < 200; i++)
		assert_int_equal(passes(&g, FRBPF_FIELD_ARG + 2, i), i != -3);
}

/* Two words that differ only in the second are different. */
static void test_two_words(void **state)
{
	struct frbpf_rule rule = { .n_nodes = 1, .nodes = { ARG(1, NE, 7) } };
	struct frbpf_prefilter g;

	rule.nodes[0].flags = FRBPF_NODE_END;
	prefilter__make(&rule, 1, NULL, 1U << (FRBPF_FIELD_ARG + 1), &g);
	assert_true(passes(&g, FRBPF_FIELD_ARG + 1, 7));
	assert_true(passes(&g, FRBPF_FIELD_ARG + 1, 8));
	prefilter__make(&rule, 1, NULL, 0, &g);
	assert_false(passes(&g, FRBPF_FIELD_ARG + 1, 7));
	rule.nodes[0].op = FRBPF_OP_EQ;
	prefilter__make(&rule, 1, NULL, 1U << (FRBPF_FIELD_ARG + 1), &g);
	assert_true(passes(&g, FRBPF_FIELD_ARG + 1, 7));
	assert_false(passes(&g, FRBPF_FIELD_ARG + 1, 8));
}

#define NODE(field_, op_)                                                                          \
	{                                                                                          \
		.field = FRBPF_FIELD_##field_, .op = FRBPF_OP_##op_, .val = { 7 }                  \
	}

/* Conditions that the prefilter decides completely. */
static void test_decides(void **state)
{
	static const struct {
		struct frbpf_node nodes[3];
		uint32_t n;
		bool decides, ends_each;
	} cases[] = {
		{ { { 0 } }, 0, true, false },
		{ { ARG(0, EQ, 7) }, 1, true, false },
		{ { ARG(3, GE, -7) }, 1, true, false },
		{ { ARG(3, BITS, 7) }, 1, false, false },
		{ { ARG(1, EQ, 7) }, 1, false, false }, /* a value of two words */
		{ { ARG(0, LT, INT64_MIN) }, 1, false, false },
		{ { ARG(0, NE, 7), NODE(COMM, EQ) }, 2, true, false },
		{ { ARG(0, NE, 7), NODE(COMM, EQ) }, 2, false, true }, /* joined by or */
		{ { NODE(COMM, EQ), NODE(COMM, EQ) }, 2, false, false },
		{ { NODE(COMM, NE) }, 1, false, false },
		{ { ARG(0, GT, 7), ARG(0, LT, 9) }, 2, false, false },
		{ { ARG(0, GT, 7), ARG(2, LT, 9) }, 2, false, false },
		/* pids are not known in every pid namespace */
		{ { NODE(PID, EQ) }, 1, false, false },
		{ { ARG(0, GT, 7), NODE(CPU, EQ) }, 2, false, false },
	};
	struct frbpf_rule rules[2] = { { .slot = 3, .flags = FRBPF_RULE_HIT },
				       { .slot = 4, .flags = FRBPF_RULE_HIT } };
	struct frbpf_prefilter g;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		rules[0].n_nodes = cases[i].n;
		memcpy(rules[0].nodes, cases[i].nodes, sizeof(cases[i].nodes));
		for (uint32_t k = 0; k < cases[i].n; k++)
			if (cases[i].ends_each || k + 1 == cases[i].n)
				rules[0].nodes[k].flags |= FRBPF_NODE_END;
		prefilter__make(rules, 1, patterns, 1U << (FRBPF_FIELD_ARG + 1), &g);
		if (g.decides != cases[i].decides)
			fail_msg("case %zu: %u", i, g.decides);
		assert_int_equal(g.slot, 3);
		prefilter__make(rules, 2, patterns, 0, &g);
		assert_int_equal(g.decides, 0);
	}
	prefilter__make(rules, 0, NULL, 0, &g);
	assert_int_equal(g.decides, 0);
	rules[0] = (struct frbpf_rule){ .threshold = 1 };
	prefilter__make(rules, 1, NULL, 0, &g);
	assert_int_equal(g.decides, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_lost), cmocka_unit_test(test_values),
		cmocka_unit_test(test_ranges),		cmocka_unit_test(test_two_words),
		cmocka_unit_test(test_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
