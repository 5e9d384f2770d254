/* SPDX-License-Identifier: GPL-2.0-only */
/* The rule engine of the running kernel, with events that a test makes up. */
#ifndef TESTS_UNIT_INJECT_FIXTURE_H
#define TESTS_UNIT_INJECT_FIXTURE_H

#include "detect/detectors_core.h"
#include "detect/inject/inject.h"
#include "detect_fixture.h"

/* a source whose events all come from the test */

static int made_up_load(struct source *s, const struct source_env *env)
{
	return inject__load(s, env, (struct inject **)&s->skel);
}

static int made_up_attach(struct source *s)
{
	return 0;
}

static void made_up_free(struct source *s)
{
	inject__free(s->skel);
}

static const struct source_ops made_up = {
	.source = FRBPF_SOURCE_APP,
	.name = "made-up",
	.elf = inject__elf,
	.load = made_up_load,
	.attach = made_up_attach,
	.free = made_up_free,
};

struct bench {
	struct detectors *d;
	struct source *s;
	struct rule_table *table;
	struct frbpf_trigger last;
};

/* Rule i gets the slot slots[i]. */
static inline void bench_write_at(struct bench *b, const struct rule_conf *rules, size_t n,
				  const uint32_t *slots)
{
	struct err err = { "" };

	assert_int_equal(rule_table__build(&rules[0].when, rules, n, slots, NULL, NULL, b->table),
			 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(rate_keys__give(b->d->keys, slots[i], &rules[i], n, NULL), 0);
	if (!b->s && source__open(&made_up, NULL, &b->d->env, b->table, &b->s, &err))
		fail_msg("open: %s", err.msg);
	if (source__write(b->s, b->table, &err))
		fail_msg("write: %s", err.msg);
	source__flip(b->s);
}

static inline void bench_write(struct bench *b, const struct rule_conf *rules, size_t n)
{
	static const uint32_t slots[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	bench_write_at(b, rules, n, slots);
}

static inline struct bench bench_open_at(const struct rule_conf *rules, size_t n,
					 const uint32_t *slots)
{
	struct bench b = { .table = calloc(1, sizeof(*b.table)) };

	assert_non_null(b.table);
	b.d = open_detectors();
	bench_write_at(&b, rules, n, slots);
	return b;
}

static inline struct bench bench_open(const struct rule_conf *rules, size_t n)
{
	static const uint32_t slots[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	return bench_open_at(rules, n, slots);
}

static inline void bench_close(struct bench *b)
{
	source__free(b->s);
	detectors__free(b->d);
	free(b->table);
}

/* Count the triggers; keep the last one. */
static inline int fire(struct bench *b, const struct frbpf_event *e)
{
	struct sink s;

	assert_int_equal(inject__event(b->s->skel, e), 0);
	s = collect(b->d, 0);
	if (s.n)
		b->last = s.last;
	return s.n;
}

#endif
