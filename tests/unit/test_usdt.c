// SPDX-License-Identifier: GPL-2.0-only
/*
 * Static probes (USDT) on the running kernel: one of this program, reached by children, as this
 * process is never a subject. Skips without root, BTF or uprobes.
 * with: others
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user_probe_fixture.h"

static void test_usdt(void **state)
{
	struct rule_conf rules[] = {
		rule_when(1, "usdt:SELF:frbpf_unit:tick", NULL),
		rule_when(2, "usdt:SELF:frbpf_unit:tick", "arg0 == -3 && arg1 == 0x10000000003"),
		rule_when(3, "usdt:SELF:frbpf_unit:tick", "arg2 != 200 || arg3 != -9 || arg4 != 0"),
	};
	struct detectors *d;
	uint32_t slots[3];
	struct sink s;

	SKIP_UNLESS_UPROBES();
	rules[0].quiet = true;
	d = open_detectors();
	update(d, rules, 3, slots);
	await_success(spawn(run_probe, NULL, 6));
	s = collect(d, 2000);
	assert_int_equal(matched(d, slots[0]), 6);
	assert_int_equal(matched(d, slots[2]), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.v[0].source, FRBPF_SOURCE_USDT);
	assert_int_equal(s.v[0].rule_id, 2);
	assert_int_equal((long)s.v[0].args[0][0], -3);
	assert_int_equal(s.v[0].args[1][0], 0x10000000003);
	detectors__free(d);
	free_rules(rules, 3);
}

static void say_texts(struct findings *f, long unused)
{
	/*
	 * on the stack: pages of literals may not be in memory, and a program cannot wait for them
	 */
	char api[] = "api.example.com", org[] = "example.org";

	set_name(subject_name());
	watched_probe(1, (long)api);
	watched_probe(2, (long)org);
	watched_probe(3, 1); /* no address */
}

/* Strings that arguments of a static probe point to. */
static void test_usdt_texts(void **state)
{
	struct rule_conf rules[] = {
		rule_when(1, "usdt:SELF:frbpf_unit:tick", "str(arg1) ~ \"*.example.com\""),
		rule_when(2, "usdt:SELF:frbpf_unit:tick",
			  "str(arg1) == \"example.org\" && arg0 == 2"),
		rule_when(3, "usdt:SELF:frbpf_unit:tick",
			  "str(arg1) in (\"example.com\", \"api\") || str(arg1) ~ \"*x\""),
	};
	struct detectors_stats stats;
	struct detectors *d;
	uint32_t slots[3];
	struct sink s;

	SKIP_UNLESS_UPROBES();
	rules[1].quiet = true;
	d = detectors_with(rules, 3, slots);
	await_success(spawn(say_texts, NULL, 0));
	s = collect(d, 20000);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.v[0].rule_id, 1);
	assert_int_equal(s.v[0].text_is, 3); /* 2 + the number of the argument */
	assert_string_equal(s.v[0].text, "api.example.com");
	assert_int_equal(matched(d, slots[0]), 1);
	assert_int_equal(matched(d, slots[1]), 1);
	assert_int_equal(matched(d, slots[2]), 0);
	detectors__stats(d, &stats);
	assert_int_equal(stats.texts_unread, 1);
	/* after a reload with exchanged roles, the second rule fires, by its own string */
	rules[0].quiet = true;
	rules[1].quiet = false;
	update(d, (struct rule_conf[]){ rules[1], rules[0] }, 2, slots);
	await_success(spawn(say_texts, NULL, 0));
	s = collect(d, 20000);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.v[0].text, "example.org");
	assert_int_equal(matched(d, slots[0]) + matched(d, slots[1]), 4);
	detectors__free(d);
	free_rules(rules, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usdt),
		cmocka_unit_test(test_usdt_texts),
	};

	return cmocka_run_group_tests(tests, start_reader, stop_reader);
}
