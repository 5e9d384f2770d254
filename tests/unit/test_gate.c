// SPDX-License-Identifier: GPL-2.0-only
/* Gates: no event may be kept out for which the condition of a rule holds, and those of rules that have
 * something in common must keep others out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "detect/engine/gate.h"
#include "rules/expr.h"

#define ROUNDS	  20000
#define EVENTS	  20
#define MAX_RULES 4

static uint64_t seed = 20261121;

static unsigned int draw(unsigned int n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

#define PICK(list) list[draw(ARRAY_SIZE(list))]

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

/* Returns the subject as programs see it: with what the kernel leaves behind the name's NUL. */
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
	size_t held = 0, kept_out = 0;
	struct expr_subject s;
	struct frbpf_gate g;

	for (int round = 0; round < ROUNDS; round++) {
		unsigned int n = 1 + draw(MAX_RULES);

		for (unsigned int i = 0; i < n; i++)
			random_rule(&rules[i], &exprs[i]);
		gate__make(rules, n, patterns, &g);
		for (int k = 0; k < EVENTS; k++) {
			bool holds = false;

			random_event(&s, raw);
			for (unsigned int i = 0; i < n; i++)
				holds = holds || expr__eval(&exprs[i], &s);
			if (holds)
				assert_true(gate__passes(&g, raw));
			held += holds;
			kept_out += !gate__passes(&g, raw);
		}
	}
	print_message("%zu events held, %zu of %d were kept out\n", held, kept_out,
		      ROUNDS * EVENTS);
	assert_true(held > ROUNDS);
	assert_true(kept_out > ROUNDS);
}

static bool passes(const struct frbpf_gate *g, uint8_t field, int64_t v)
{
	__u64 val[FRBPF_FIELD_MAX][2] = { { 0 } };

	val[field][0] = v;
	return gate__passes(g, val);
}

#define ARG(i_, op_, v_)                                                                           \
	{                                                                                          \
		.field = FRBPF_FIELD_ARG + (i_), .op = FRBPF_OP_##op_, .val = { v_ }               \
	}

/* Rules on different values of one argument: others are kept out. */
static void test_values(void **state)
{
	struct frbpf_rule rules[3] = {
		{ .n_nodes = 1, .nodes = { ARG(0, EQ, 10) } },
		{ .n_nodes = 2, .nodes = { ARG(0, EQ, 20), ARG(1, GT, 5) } },
		{ .n_nodes = 1, .nodes = { ARG(0, EQ, 12) } },
	};
	struct frbpf_gate g;

	rules[0].nodes[0].flags = rules[1].nodes[1].flags = rules[2].nodes[0].flags =
		FRBPF_NODE_END;
	gate__make(rules, 3, NULL, &g);
	for (int i = -100; i < 100; i++)
		assert_int_equal(passes(&g, FRBPF_FIELD_ARG, i), i == 10 || i == 12 || i == 20);
	rules[2].n_nodes = 0; /* always true */
	gate__make(rules, 3, NULL, &g);
	assert_true(passes(&g, FRBPF_FIELD_ARG, 11));
	gate__make(rules, 0, NULL, &g);
	assert_true(passes(&g, FRBPF_FIELD_ARG, 11));
}

static void test_ranges(void **state)
{
	struct frbpf_rule rule = { .n_nodes = 2, .nodes = { ARG(2, GE, -3), ARG(2, LT, 100) } };
	struct frbpf_gate g;

	rule.nodes[1].flags = FRBPF_NODE_END;
	gate__make(&rule, 1, NULL, &g);
	for (int i = -200; i < 200; i++)
		assert_int_equal(passes(&g, FRBPF_FIELD_ARG + 2, i), i >= -3 && i < 100);
	rule.n_nodes = 1;
	rule.nodes[0] = (struct frbpf_node)ARG(2, NE, -3);
	rule.nodes[0].flags = FRBPF_NODE_END;
	gate__make(&rule, 1, NULL, &g);
	for (int i = -200; i < 200; i++)
		assert_int_equal(passes(&g, FRBPF_FIELD_ARG + 2, i), i != -3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_lost),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
