// SPDX-License-Identifier: GPL-2.0-only
/* max-dumps: which incidents begin, and which triggers are only counted. Pure, no root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "daemon/incident_pool.h"
#include "rules/units.h"

#define HOUR (3600 * NSEC_PER_SEC)

struct setting {
	struct ruleset rules;
	struct rule_conf rule[2];
	struct rule_counters counters[2];
	uint64_t muted_until[2];
	uint32_t slots[2];
	struct active_set g;
	struct incident_pool pool;
};

static struct setting *setting_new(struct rate rule, struct rate all)
{
	struct setting *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->rule[0].max_dumps = s->rule[1].max_dumps = rule;
	s->rules = (struct ruleset){ .rules = s->rule, .n_rules = 2 };
	s->rules.daemon.max_dumps = all;
	s->g = (struct active_set){ .rules = &s->rules,
				    .counters = s->counters,
				    .slots = s->slots,
				    .muted_until = s->muted_until };
	atomic_init(&s->g.refs, 1000);
	assert_int_equal(incident_pool__init(&s->pool), 0);
	return s;
}

static void setting_free(struct setting *s)
{
	incident_pool__free(&s->pool);
	free(s);
}

/* One trigger, whose incident ends at once. */
static void trigger(struct setting *s, size_t rule, uint64_t time)
{
	struct frbpf_trigger t = { .time = time };

	incident_pool__trigger(&s->pool, &s->g, rule, &t);
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++)
		s->pool.v[i]->state = INCIDENT_FREE;
}

static void test_of_a_rule(void **state)
{
	struct setting *s = setting_new((struct rate){ .n = 3, .time = HOUR },
					(struct rate){ .n = 100, .time = HOUR });
	uint64_t now = 1000 * HOUR, minute = HOUR / 60;

	for (int i = 0; i < 10; i++)
		trigger(s, 0, now + i * minute);
	assert_int_equal(s->counters[0].incidents, 3);
	assert_int_equal(s->counters[0].capped, 7);
	assert_true(dump_limiter__free_at(&s->counters[0].dumps, &s->rule[0].max_dumps) ==
		    now + HOUR);
	/*
	 * the window slides: another dump is allowed an hour after the first, and one after the
	 * second
	 */
	trigger(s, 0, now + HOUR - 1);
	assert_int_equal(s->counters[0].incidents, 3);
	trigger(s, 0, now + HOUR);
	trigger(s, 0, now + HOUR + minute - 1);
	assert_int_equal(s->counters[0].incidents, 4);
	trigger(s, 0, now + HOUR + minute);
	assert_int_equal(s->counters[0].incidents, 5);
	/* another rule has its own limit */
	trigger(s, 1, now + HOUR + minute);
	assert_int_equal(s->counters[1].incidents, 1);
	setting_free(s);
}

static void test_of_all_rules(void **state)
{
	struct setting *s = setting_new((struct rate){ .n = 3, .time = HOUR },
					(struct rate){ .n = 4, .time = 24 * HOUR });
	uint64_t now = 1000 * HOUR;

	for (int i = 0; i < 10; i++)
		trigger(s, i % 2, now + i);
	assert_int_equal(s->counters[0].incidents + s->counters[1].incidents, 4);
	assert_int_equal(s->counters[0].capped + s->counters[1].capped, 6);
	trigger(s, 0, now + 23 * HOUR);
	assert_int_equal(s->counters[0].incidents, 2);
	trigger(s, 0, now + 24 * HOUR);
	assert_int_equal(s->counters[0].incidents, 3);
	setting_free(s);
}

static void test_joined_ones_are_free(void **state)
{
	struct setting *s = setting_new((struct rate){ .n = 1, .time = HOUR },
					(struct rate){ .n = 1, .time = HOUR });
	struct frbpf_trigger t = { .time = HOUR };

	for (int i = 0; i < 5; i++, t.time++)
		incident_pool__trigger(&s->pool, &s->g, 0, &t);
	assert_int_equal(s->counters[0].incidents, 1);
	assert_int_equal(s->counters[0].joined, 4);
	assert_int_equal(s->counters[0].capped, 0);
	setting_free(s);
}

/* For the log: reaching the limit is reported once each time. */
static void test_is_told_once(void **state)
{
	struct setting *s = setting_new((struct rate){ .n = 2, .time = HOUR },
					(struct rate){ .n = 3, .time = HOUR });
	uint64_t now = 1000 * HOUR;
	struct dump_cap cap;

	trigger(s, 0, now);
	assert_false(incident_pool__next_cap(&s->pool, &s->g, now, &cap));
	trigger(s, 0, now + 1);
	assert_true(incident_pool__next_cap(&s->pool, &s->g, now + 1, &cap));
	assert_ptr_equal(cap.rule, &s->rule[0]);
	assert_int_equal(cap.max.n, 2);
	assert_true(cap.until == now + HOUR);
	trigger(s, 0, now + 2);
	assert_false(incident_pool__next_cap(&s->pool, &s->g, now + 2, &cap));
	trigger(s, 1, now + 3);
	assert_true(incident_pool__next_cap(&s->pool, &s->g, now + 3, &cap));
	assert_null(cap.rule);
	assert_false(incident_pool__next_cap(&s->pool, &s->g, now + 4, &cap));
	trigger(s, 0, now + HOUR);
	assert_true(incident_pool__next_cap(&s->pool, &s->g, now + HOUR, &cap));
	assert_true(cap.until == now + HOUR + 1);
	setting_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_a_rule),
		cmocka_unit_test(test_of_all_rules),
		cmocka_unit_test(test_joined_ones_are_free),
		cmocka_unit_test(test_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
