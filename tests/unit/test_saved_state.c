// SPDX-License-Identifier: GPL-2.0-only
/*
 * State that outlives the daemon: written and read on the same boot, on another boot, and damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "daemon/saved_state.h"
#include "rules/units.h"

#define S NSEC_PER_SEC

static const struct saved_clock first = { "boot-1", 1000 * S, 500 * S };

static struct saved_state make_state(void)
{
	struct past_bucket buckets[] = { { 0, 495, 1LL << 40 }, { 8, 7, 3 } };
	struct past_learnt learnt[] = { { 11, 9990, 5000, buckets, 2 }, { .id = 12 } };
	struct saved_state k = { .n_rules = 2, .n_cooling = 2 };

	for (int i = 0; i < 2; i++)
		assert_int_equal(saved_state__add_learnt(&k, &learnt[i]), 0);
	k.rules = calloc(2, sizeof(*k.rules));
	k.cooling = calloc(2, sizeof(*k.cooling));
	assert_true(k.rules && k.cooling);
	k.rules[0] = (struct saved_rule){ .id = 0xfedcba9876543210,
					  .last_fired = 490 * S,
					  .start_value = 21000000 };
	dump_limiter__note(&k.rules[0].dumps, 480 * S);
	dump_limiter__note(&k.rules[0].dumps, 490 * S);
	k.rules[1] = (struct saved_rule){ .id = 7 };
	for (int i = 0; i < 300; i++) /* more than it keeps */
		dump_limiter__note(&k.dumps, (i + 1) * S);
	k.cooling[0] =
		(struct past_cooling){ { 7, { 0xffffffffffffffff, 2 }, FRBPF_PER_PROCESS, 0 },
				       { 450 * S, 600 * S } };
	k.cooling[1] = (struct past_cooling){ { 7, { 3, 4 }, FRBPF_PER_FIELD, FRBPF_FIELD_COMM },
					      { 460 * S, 700 * S, { 460 * S, 5000 } } };
	return k;
}

static struct saved_state through_text(const struct saved_clock *clock)
{
	struct saved_state k = make_state(), back = { 0 };
	struct err err = { "" };
	char *text = saved_state__format(&k, &first);

	assert_non_null(text);
	assert_int_equal(saved_state__parse(text, strlen(text), clock, &back, &err), 0);
	saved_state__free(&k);
	free(text);
	return back;
}

static void test_same_boot(void **state)
{
	struct saved_clock later = { "boot-1", 5000 * S, 510 * S }; /* the clock was set */
	struct saved_state want = make_state(), got = through_text(&later);

	assert_int_equal(got.n_rules, 2);
	assert_ptr_equal(saved_state__find(&got, 0xfedcba9876543210), &got.rules[0]);
	assert_null(saved_state__find(&got, 8));
	assert_memory_equal(got.rules, want.rules, 2 * sizeof(*got.rules));
	assert_int_equal(got.n_cooling, 2);
	assert_memory_equal(got.cooling, want.cooling, 2 * sizeof(*got.cooling));
	assert_int_equal(got.n_learnt, 2);
	assert_int_equal(got.learnt[0].id, 11);
	assert_int_equal(got.learnt[0].percentile_of, 9990);
	assert_int_equal(got.learnt[0].percentile, 5000);
	assert_int_equal(got.learnt[0].n_buckets, 2);
	assert_memory_equal(got.learnt[0].buckets, want.learnt[0].buckets,
			    2 * sizeof(*got.learnt[0].buckets));
	assert_int_equal(got.learnt[1].n_buckets, 0);
	assert_int_equal(got.dumps.begun, RULESET_DUMPS_MAX);
	assert_int_equal(got.dumps.times[RULESET_DUMPS_MAX - 1], 300 * S);
	saved_state__free(&want);
	saved_state__free(&got);
}

/* 60 s later by UTC, 5 s after a reboot: what was at 490 s is at -65 s. */
static void test_other_boot(void **state)
{
	struct saved_clock boot = { "boot-2", 1555 * S, 5 * S };
	struct saved_state got = through_text(&boot);
	struct dump_limiter log = { 0 };

	assert_int_equal((int64_t)got.rules[0].last_fired, -65LL * (int64_t)S);
	saved_state__take_dumps(&log, &got.rules[0].dumps, 75 * S, boot.now);
	assert_int_equal(log.begun, 1);
	assert_int_equal((int64_t)log.times[0], -65LL * (int64_t)S);
	/* the next dump may begin at -65 + 75 */
	assert_int_equal(dump_limiter__free_at(&log, &(struct rate){ .n = 1, .time = 75 * S }),
			 10 * S);
	assert_int_equal(got.rules[0].start_value, 21000000);
	/* nothing is left that is about processes */
	assert_int_equal(got.n_cooling, 1);
	assert_int_equal(got.cooling[0].key.per, FRBPF_PER_FIELD);
	assert_int_equal(got.cooling[0].value.cooldown_start.of, got.cooling[0].value.last_fired);
	assert_int_equal(got.cooling[0].value.cooldown_start.value, 5000);
	assert_int_equal(got.cooling[0].value.until - got.cooling[0].value.last_fired, 240 * S);
	saved_state__free(&got);
}

/* A file of a version that had no `escalate`. */
static void test_without_bars(void **state)
{
	static const char text[] =
		"{\"version\": 1, \"boot_id\": \"boot-1\", \"utc_offset_ns\": 0, \"dumps\": [], "
		"\"rules\": [{\"id\": \"0000000000000001\", \"last_fired\": 9, \"dumps\": []}], "
		"\"cooldowns\": [{\"rule\": \"0000000000000001\", \"per\": 1, \"field\": 0, "
		"\"key\": [\"0000000000000001\", \"0000000000000001\"], \"last_fired\": 9, "
		"\"until\": 12}]}";
	struct saved_state k;
	struct err err = { "" };

	assert_int_equal(saved_state__parse(text, strlen(text), &first, &k, &err), 0);
	assert_int_equal(k.rules[0].last_fired, 9);
	assert_int_equal(k.rules[0].start_value, 0);
	assert_int_equal(k.cooling[0].value.cooldown_start.of, 0);
	assert_int_equal(k.cooling[0].value.cooldown_start.value, 0);
	saved_state__free(&k);
}

/* UTC was set back: nothing may last longer than from now on. */
static void test_future(void **state)
{
	struct saved_clock boot = { "boot-2", 10 * S, 5 * S };
	struct saved_state got = through_text(&boot);

	assert_int_equal(got.rules[0].last_fired, 5 * S);
	assert_int_equal(got.cooling[0].value.until, 245 * S);
	assert_int_equal(got.dumps.times[0], 5 * S);
	saved_state__free(&got);
}

static void test_damaged(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"{}",
		"{\"version\": 2}",
		"{\"version\": \"1\"}",
		"{\"version\": 1, \"version\": 1}",
		"{\"version\": 1, \"boot_id\": 1, \"utc_offset_ns\": 0, \"dumps\": [], \"rules\": "
		"[], "
		"\"cooldowns\": []}",
		"{\"version\": 1, \"boot_id\": \"\", \"utc_offset_ns\": 0, \"dumps\": [\"\"], "
		"\"rules\": [], \"cooldowns\": []}",
		"{\"version\": 1, \"boot_id\": \"\", \"utc_offset_ns\": 0, \"dumps\": [], "
		"\"rules\": [{\"id\": \"1\", \"last_fired\": 0, \"dumps\": []}], \"cooldowns\": "
		"[]}",
		"{\"version\": 1, \"boot_id\": \"\", \"utc_offset_ns\": 0, \"dumps\": [], "
		"\"rules\": [], \"cooldowns\": [{\"rule\": \"0000000000000001\", \"per\": 9, "
		"\"field\": 0, \"key\": [\"0000000000000001\", \"0000000000000001\"], "
		"\"last_fired\": 1, \"until\": 2}]}",
		"{\"version\": 1, \"boot_id\": \"\", \"utc_offset_ns\": 0, \"dumps\": [], "
		"\"rules\": [], \"cooldowns\": [], \"learnt\": [{\"id\": \"0000000000000001\", "
		"\"percentile_of\": 9900, \"percentile_ns\": 1, \"buckets\": [10, 0, 1]}]}",
		"{\"version\": 1, \"boot_id\": \"\", \"utc_offset_ns\": 0, \"dumps\": [], "
		"\"rules\": [], \"cooldowns\": [], \"learnt\": [{\"id\": \"0000000000000001\", "
		"\"percentile_of\": 9900, \"percentile_ns\": 1, \"buckets\": [0, 512, 1]}]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct saved_state k = { .n_rules = 77 };
		struct err err = { "" };

		assert_int_equal(saved_state__parse(texts[i], strlen(texts[i]), &first, &k, &err),
				 -EINVAL);
		assert_true(err.msg[0]);
		assert_int_equal(k.n_rules, 77);
	}
}

/* Every prefix of a text, and each byte changed: no crash, and never a partial result. */
static void test_cut_and_changed(void **state)
{
	struct saved_state k = make_state(), back;
	char *text = saved_state__format(&k, &first);
	size_t len = strlen(text);
	struct err err;

	for (size_t i = 0; i < len; i++)
		assert_int_equal(saved_state__parse(text, i, &first, &back, &err), -EINVAL);
	for (size_t i = 0; i < len; i++) {
		char was = text[i];

		text[i] = "0\"}{-9e\xff"[i % 8];
		if (!saved_state__parse(text, len, &first, &back, &err)) {
			assert_true(back.n_rules <= 2 && back.n_cooling <= 2);
			saved_state__free(&back);
		}
		text[i] = was;
	}
	free(text);
	saved_state__free(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_boot),    cmocka_unit_test(test_other_boot),
		cmocka_unit_test(test_future),	     cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_without_bars), cmocka_unit_test(test_cut_and_changed),
	};

	return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
