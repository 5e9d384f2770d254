// SPDX-License-Identifier: GPL-2.0-only
/* Rules in the form of the BPF map, and the assignment of slots: pure, no root. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "detect/engine/rule_table.h"

static const struct when runqlat = { .source = FRBPF_SOURCE_RUNQLAT };
static const struct when syscalls = { .source = FRBPF_SOURCE_SYSCALL };

static struct rule_conf rule(uint64_t id, enum frbpf_source source, uint64_t threshold)
{
	return (struct rule_conf){
		.id = id,
		.when = { .source = source, .threshold = threshold },
		.cooldown = { .time = 7 },
	};
}

static struct rule_table *table_new(void)
{
	struct rule_table *t = malloc(sizeof(*t));

	assert_non_null(t);
	memset(t, 0xa5, sizeof(*t));
	return t;
}

static void test_empty(void **state)
{
	struct rule_table *t = table_new();

	assert_int_equal(rule_table__build(&runqlat, NULL, 0, NULL, NULL, NULL, t), 0);
	assert_int_equal(t->bank.n_rules, 0);
	assert_true(t->bank.min_threshold == UINT64_MAX);
	for (int i = 0; i < FRBPF_KEY_WORDS; i++)
		assert_true(t->bank.watched_keys[i] == 0);
	free(t);
}

static void test_sorted_by_threshold(void **state)
{
	const struct rule_conf rules[] = {
		rule(1, FRBPF_SOURCE_RUNQLAT, 300), rule(2, FRBPF_SOURCE_SYSCALL, 1),
		rule(3, FRBPF_SOURCE_RUNQLAT, 100), rule(4, FRBPF_SOURCE_RUNQLAT, 200),
		rule(5, FRBPF_SOURCE_RUNQLAT, 100),
	};
	const uint32_t slots[] = { 10, 11, 12, 13, 14 };
	struct rule_table *t = table_new();

	assert_int_equal(rule_table__build(&runqlat, rules, 5, slots, NULL, NULL, t), 0);
	assert_int_equal(t->bank.n_rules, 4);
	assert_int_equal(t->bank.min_threshold, 100);
	assert_int_equal(t->bank.watched_keys[0], 1); /* a source without keys */
	assert_int_equal(t->rules[0].id, 3);	      /* rule 3 is before rule 5, as in the file */
	assert_int_equal(t->rules[1].id, 5);
	assert_int_equal(t->rules[2].id, 4);
	assert_int_equal(t->rules[3].id, 1);
	assert_int_equal(t->rules[0].slot, 12);
	assert_int_equal(t->rules[3].slot, 10);
	assert_int_equal(t->rules[3].cooldown.time, 7);
	assert_int_equal(t->rules[0].watched_keys[0], 1);
	free(t);
}

static void test_keys_are_united(void **state)
{
	struct rule_conf rules[] = {
		rule(1, FRBPF_SOURCE_SYSCALL, 50),
		rule(2, FRBPF_SOURCE_SYSCALL, 20),
		rule(3, FRBPF_SOURCE_RUNQLAT, 10),
	};
	const uint32_t slots[] = { 0, 1, 2 };
	struct rule_table *t = table_new();

	rules[0].when.keys[0] = 1ULL << 35;
	rules[1].when.keys[3] = 1ULL << 38;
	rules[2].when.keys[7] = 1; /* garbage of another source */
	assert_int_equal(rule_table__build(&syscalls, rules, 3, slots, NULL, NULL, t), 0);
	assert_int_equal(t->bank.n_rules, 2);
	assert_int_equal(t->bank.min_threshold, 20);
	assert_true(t->bank.watched_keys[0] == 1ULL << 35);
	assert_true(t->bank.watched_keys[3] == 1ULL << 38);
	assert_true(t->bank.watched_keys[7] == 0);
	assert_true(t->rules[0].watched_keys[3] == 1ULL << 38 && t->rules[0].watched_keys[0] == 0);
	free(t);
}

static void test_predicates_are_copied(void **state)
{
	struct rule_conf r = rule(1, FRBPF_SOURCE_RUNQLAT, 1);
	const uint32_t slot = 0;
	struct rule_table *t = table_new();

	r.expr.n_nodes = 2;
	r.expr.nodes[0] = (struct frbpf_node){ .field = FRBPF_FIELD_CPU, .val = { 3 } };
	r.expr.nodes[1] = (struct frbpf_node){ .field = FRBPF_FIELD_PID, .val = { 9 } };
	assert_int_equal(rule_table__build(&runqlat, &r, 1, &slot, NULL, NULL, t), -EINVAL);
	r.expr.nodes[1].flags = FRBPF_NODE_END;
	assert_int_equal(rule_table__build(&runqlat, &r, 1, &slot, NULL, NULL, t), 0);
	assert_int_equal(t->rules[0].n_nodes, 2);
	assert_memory_equal(t->rules[0].nodes, r.expr.nodes, sizeof(r.expr.nodes));
	r.expr.n_nodes = FRBPF_MAX_NODES + 1;
	assert_int_equal(rule_table__build(&runqlat, &r, 1, &slot, NULL, NULL, t), -EINVAL);
	free(t);
}

/*
 * A single rule on hits has a condition. The prefilter decides it completely for a number, but not
 * for a string.
 */
static void test_prefilter_decides(void **state)
{
	static const struct when hits = { .source = FRBPF_SOURCE_UPROBE, .hit = true };
	static const struct {
		enum expr_type type;
		uint32_t decides;
	} cases[] = { { EXPR_NUMBER, 1 }, { EXPR_DURATION, 1 }, { EXPR_DEVICE, 1 },
		      { EXPR_IPV4, 1 },	  { EXPR_STRING, 0 },	{ EXPR_IPV6, 0 } };
	struct rule_conf r = rule(1, FRBPF_SOURCE_UPROBE, 0);
	struct rule_table *t = table_new();
	const uint32_t slot = 5;

	r.when.hit = true;
	r.expr.n_nodes = 1;
	r.expr.nodes[0] = (struct frbpf_node){ .field = FRBPF_FIELD_ARG + 1,
					       .flags = FRBPF_NODE_END,
					       .val = { 7 } };
	r.args.n = 1;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		r.args.v[0] = (struct rule_arg){ .slot = 1, .bound = true, .type = cases[i].type };
		assert_int_equal(rule_table__build(&hits, &r, 1, &slot, NULL, NULL, t), 0);
		assert_int_equal(t->bank.prefilter.decides, cases[i].decides);
		assert_int_equal(t->bank.prefilter.slot, slot);
	}
	r.args.n = 0; /* arg1 of a function */
	assert_int_equal(rule_table__build(&hits, &r, 1, &slot, NULL, NULL, t), 0);
	assert_int_equal(t->bank.prefilter.decides, 1);
	r.when.hit = false;
	assert_int_equal(rule_table__build(&hits, &r, 1, &slot, NULL, NULL, t), 0);
	assert_int_equal(t->bank.prefilter.decides, 0);
	free(t);
}

static void test_globs_are_shared(void **state)
{
	struct rule_conf rules[] = { rule(1, FRBPF_SOURCE_RUNQLAT, 1),
				     rule(2, FRBPF_SOURCE_RUNQLAT, 2) };
	static char *patterns[] = { "post*", "kworker/*" };
	const uint32_t slots[] = { 0, 1 };
	struct rule_table *t = table_new();

	for (int i = 0; i < 2; i++) {
		rules[i].expr.n_nodes = 2;
		memcpy(rules[i].expr.strings, patterns, sizeof(patterns));
		rules[i].expr.nodes[0] = (struct frbpf_node){ .field = FRBPF_FIELD_COMM,
							      .op = FRBPF_OP_GLOB,
							      .val = { i } };
		rules[i].expr.nodes[1] = (struct frbpf_node){ .field = FRBPF_FIELD_PROCESS,
							      .op = FRBPF_OP_NO_GLOB,
							      .flags = FRBPF_NODE_END };
	}
	assert_int_equal(rule_table__build(&runqlat, rules, 2, slots, NULL, NULL, t), 0);
	assert_int_equal(t->n_globs, 2);
	assert_string_equal(t->patterns[0], "post*");
	assert_int_equal(t->globs[0].accept, 1 << 4);
	assert_int_equal(t->globs[0].loop, 1 << 4);
	assert_int_equal(t->globs[0].next['s'], 1 << 2);
	assert_int_equal(t->rules[0].nodes[0].val[0], 0);
	assert_int_equal(t->rules[1].nodes[0].val[0], 1);
	assert_int_equal(t->rules[1].nodes[1].val[0], 0);
	assert_int_equal(t->bank.fields, 1 << FRBPF_FIELD_COMM | 1 << FRBPF_FIELD_PROCESS);
	free(t);
}

static void test_too_many(void **state)
{
	enum { N = FRBPF_MAX_RULES + 1 };
	struct rule_conf *rules = calloc(N, sizeof(*rules));
	uint32_t *slots = calloc(N, sizeof(*slots));
	struct rule_table *t = table_new();

	assert_true(rules && slots);
	for (int i = 0; i < N; i++)
		rules[i] = rule(i, FRBPF_SOURCE_RUNQLAT, N - i);
	assert_int_equal(rule_table__build(&runqlat, rules, N, slots, NULL, NULL, t), -E2BIG);
	assert_int_equal(rule_table__build(&runqlat, rules, N - 1, slots, NULL, NULL, t), 0);
	assert_int_equal(t->bank.n_rules, FRBPF_MAX_RULES);
	assert_int_equal(t->bank.min_threshold, 2);
	for (int i = 0; i < FRBPF_MAX_RULES; i++)
		assert_int_equal(t->rules[i].threshold, i + 2);
	free(rules);
	free(slots);
	free(t);
}

static void test_slots_are_kept(void **state)
{
	static struct slots none, a, b, c;
	uint32_t slot[3], again[3], third[3];
	bool fresh[3];

	assert_int_equal(slots__assign(&none, (uint64_t[]){ 11, 22, 33 }, 3, &a, slot, fresh), 0);
	assert_true(fresh[0] && fresh[1] && fresh[2]);
	assert_true(slot[0] != slot[1] && slot[1] != slot[2] && slot[0] != slot[2]);

	/* 22 goes, 44 comes: it must not get the slot of 22, to which programs may still write */
	assert_int_equal(slots__assign(&a, (uint64_t[]){ 33, 44, 11 }, 3, &b, again, fresh), 0);
	assert_int_equal(again[0], slot[2]);
	assert_int_equal(again[2], slot[0]);
	assert_true(!fresh[0] && fresh[1] && !fresh[2]);
	assert_int_not_equal(again[1], slot[1]);

	/* ... but the next one may */
	assert_int_equal(slots__assign(&b, (uint64_t[]){ 55 }, 1, &c, third, fresh), 0);
	assert_int_equal(third[0], slot[1]);
	assert_true(fresh[0]);
}

static void test_equal_ids_get_slots_of_their_own(void **state)
{
	static struct slots none, a, b;
	uint32_t slot[2], again[2];
	bool fresh[2];

	assert_int_equal(slots__assign(&none, (uint64_t[]){ 0, 0 }, 2, &a, slot, fresh), 0);
	assert_int_not_equal(slot[0], slot[1]);
	assert_int_equal(slots__assign(&a, (uint64_t[]){ 0, 0 }, 2, &b, again, fresh), 0);
	assert_true(!fresh[0] && !fresh[1]);
	assert_int_not_equal(again[0], again[1]);
}

static void test_slots_run_out(void **state)
{
	static struct slots none, a, b;
	static uint64_t ids[FRBPF_MAX_SLOTS + 1];
	static uint32_t slot[FRBPF_MAX_SLOTS + 1];
	static bool fresh[FRBPF_MAX_SLOTS + 1];

	for (int i = 0; i <= FRBPF_MAX_SLOTS; i++)
		ids[i] = i;
	assert_int_equal(slots__assign(&none, ids, FRBPF_MAX_SLOTS + 1, &a, slot, fresh), -ENOSPC);
	/* all rules of both sources replaced at once fit */
	assert_int_equal(slots__assign(&none, ids, 2 * FRBPF_MAX_RULES, &a, slot, fresh), 0);
	assert_int_equal(
		slots__assign(&a, ids + 2 * FRBPF_MAX_RULES, 2 * FRBPF_MAX_RULES, &b, slot, fresh),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_sorted_by_threshold),
		cmocka_unit_test(test_keys_are_united),
		cmocka_unit_test(test_predicates_are_copied),
		cmocka_unit_test(test_prefilter_decides),
		cmocka_unit_test(test_globs_are_shared),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_slots_are_kept),
		cmocka_unit_test(test_equal_ids_get_slots_of_their_own),
		cmocka_unit_test(test_slots_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
