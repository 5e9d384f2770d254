// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dump/window/task_set.h"

#define PIDS 50
#define TIDS 40

static void add_task(struct task_set *s, uint32_t pid, uint32_t tid)
{
	assert_int_equal(task_set__add(s, pid, tid), 0);
}

static void check(const struct task_set *s, size_t i, uint32_t pid, uint32_t tid)
{
	assert_true(i < s->n);
	assert_int_equal(s->v[i].pid, pid);
	assert_int_equal(s->v[i].tid, tid);
}

static void test_empty(void **state)
{
	struct task_set s = { 0 };

	task_set__sort(&s);
	assert_int_equal(s.n, 0);
	task_set__free(&s);
	assert_null(s.v);
}

static void test_sorted_and_unique(void **state)
{
	struct task_set s = { 0 };

	add_task(&s, 2, 9);
	add_task(&s, 1, 5);
	add_task(&s, UINT32_MAX, UINT32_MAX); /* of a task that had ended already */
	add_task(&s, 2, 9);
	add_task(&s, 0, 0);
	add_task(&s, 2, 3);
	add_task(&s, 1, 5);
	task_set__sort(&s);
	assert_int_equal(s.n, 5);
	check(&s, 0, 0, 0);
	check(&s, 1, 1, 5);
	check(&s, 2, 2, 3);
	check(&s, 3, 2, 9);
	check(&s, 4, UINT32_MAX, UINT32_MAX);
	task_set__free(&s);
}

/* Any number of samples of few tasks needs no more memory. */
static void test_repetitions(void **state)
{
	struct task_set s = { 0 };

	for (int i = 0; i < 1000000; i++)
		add_task(&s, 7, 7);
	assert_int_equal(s.n, 1);
	for (int i = 0; i < 1000000; i++)
		add_task(&s, i % 3, i % 3);
	assert_true(s.cap <= 512);
	task_set__sort(&s);
	assert_int_equal(s.n, 4);
	task_set__free(&s);
}

static void test_random(void **state)
{
	static bool there[PIDS][TIDS];
	struct task_set s = { 0 };
	size_t n = 0;

	srandom(3);
	for (int i = 0; i < 100000; i++) {
		uint32_t pid = random() % PIDS, tid = random() % (pid % TIDS + 1);

		there[pid][tid] = true;
		add_task(&s, pid, tid);
	}
	task_set__sort(&s);
	for (uint32_t pid = 0; pid < PIDS; pid++) {
		for (uint32_t tid = 0; tid < TIDS; tid++) {
			if (there[pid][tid])
				check(&s, n++, pid, tid);
		}
	}
	assert_int_equal(s.n, n);
	task_set__free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_sorted_and_unique),
		cmocka_unit_test(test_repetitions),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests_name("task_set", tests, NULL, NULL);
}
