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

#include "common/cleanup.h"
#include "detect/app/app_limits.h"
#include "rules/app_message.h"

#define SEC 1000000000ULL

static int parse(const char *s, size_t len, struct app_message *m, const char **why, size_t *at)
{
	/* on the heap, with the exact size, so that a sanitizer sees a read beyond the end */
	char *copy = len ? malloc(len) : NULL;
	int err;

	if (len)
		memcpy(copy, s, len);
	err = app_message__parse(copy, len, m, why, at);
	free(copy);
	return err;
}

static struct app_message accept(const char *s)
{
	struct app_message m;
	const char *why;
	size_t at;

	if (parse(s, strlen(s), &m, &why, &at))
		fail_msg("'%s': %s at %zu", s, why, at);
	return m;
}

static void names_and_durations(void **state)
{
	static const struct {
		const char *text, *name;
		uint64_t duration;
	} cases[] = {
		{ "x", "x", 0 },
		{ "slow-request", "slow-request", 0 },
		{ "a.b_C-9 812ms", "a.b_C-9", 812000000 },
		{ "x 1.5s\n", "x", 1500000000 },
		{ " \t x \t 7us \t ", "x", 7000 },
		{ "x 0", "x", 0 },
		{ "x 30d", "x", 30 * 86400 * SEC },
		{ "x a=1", "x", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct app_message m = accept(cases[i].text);

		assert_string_equal(m.name, cases[i].name);
		assert_int_equal(m.duration, cases[i].duration);
	}
}

static void values(void **state)
{
	static const struct {
		const char *text, *value;
		int64_t number;
	} cases[] = {
		{ "x k=500", "500", 500 },
		{ "x k=-5", "-5", -5 },
		{ "x k=0x10", "0x10", 16 },
		{ "x k=20ms", "20ms", 20000000 },
		{ "x k=-20ms", "-20ms", -20000000 },
		{ "x k=", "", 0 },
		{ "x k=-", "-", 0 },
		{ "x k=\"\"", "", 0 },
		{ "x k=\"500\"", "500", 500 },
		{ "x k=\"a b\"", "a b", 0 },
		{ "x k=\"a\\\"\\\\b\" l=1", "a\"\\b", 0 },
		{ "x k=/api/orders?a=b", "/api/orders?a=b", 0 },
		{ "x k=0123456789abcdefgh", "0123456789abcde", 0 },
		{ "x k=\xff\xfe\x80", "\xff\xfe\x80", 0 },
		{ "x k=9223372036854775807", "922337203685477", INT64_MAX },
		{ "x k=9223372036854775808", "922337203685477", 0 },
		{ "x k=99999999999999999999999999", "999999999999999", 0 },
		{ "x k=99999999999999999999999999d", "999999999999999", 0 },
		{ "x 1ms k=NaN", "NaN", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct app_message m = accept(cases[i].text);
		const struct app_arg *a = app_message__arg(&m, "k");

		assert_non_null(a);
		assert_string_equal(a->text, cases[i].value);
		assert_int_equal(a->number, cases[i].number);
		assert_null(app_message__arg(&m, "K"));
	}
	/* the rest of a short text is zero, because both words are compared */
	assert_memory_equal(accept("x k=a").args[0].text, "a\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

#define LIT(s) s, sizeof(s) - 1

static void refused(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *why; /* part of the message */
		size_t at;
	} cases[] = {
		{ LIT(""), "a name is missing", 0 },
		{ LIT("\n"), "a name is missing", 0 },
		{ LIT("  "), "a name is missing", 2 },
		{ LIT("=5"), "a name may contain only", 0 },
		{ LIT("a/b"), "a name may contain only", 0 },
		{ LIT("caf\xc3\xa9"), "a name may contain only", 0 },
		{ LIT("x 5"), "a duration, such as", 2 },
		{ LIT("x -5ms"), "a duration, such as", 2 },
		{ LIT("x 5mss"), "a duration, such as", 2 },
		{ LIT("x 99999999999999999999s"), "too long", 2 },
		{ LIT("x 31d"), "longer than 30 days", 2 },
		{ LIT("x 1ms 2ms"), "KEY=VALUE", 6 },
		{ LIT("x a=1 2ms"), "KEY=VALUE", 6 },
		{ LIT("x =1"), "a key is", 2 },
		{ LIT("x 9a=1"), "a key is", 2 },
		{ LIT("x a=1 a=2"), "appears twice", 6 },
		{ LIT("x a=\"b"), "closing", 4 },
		{ LIT("x a=\"b\\"), "closing", 4 },
		{ LIT("x a=\"b\\\""), "closing", 4 },
		{ LIT("x a=\"b\\n\""), "only \\\"", 6 },
		{ LIT("x a=\"b\"c"), "a blank is missing", 7 },
		{ LIT("x a=b\"c\""), "must be in quotes", 4 },
		{ LIT("x\0"), "NUL", 1 },
		{ LIT("x a=\0"), "NUL", 4 },
		{ LIT("x\n1ms"), "control character", 1 },
		{ LIT("x\n\n"), "control character", 1 },
		{ LIT("x a=\x1b[2J"), "control character", 4 },
		{ LIT("x a=\x7f"), "control character", 4 },
		{ LIT("x\r\n"), "control character", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct app_message m;
		const char *why = "";
		size_t at = SIZE_MAX;

		if (parse(cases[i].text, cases[i].len, &m, &why, &at) != -EINVAL ||
		    !strstr(why, cases[i].why) || at != cases[i].at)
			fail_msg("'%s': '%s' at %zu", cases[i].text, why, at);
	}
}

/* Each length at its limit is accepted, and one more is refused. */
static void lengths(void **state)
{
	char text[APP_MESSAGE_MAX + 8];
	struct app_message m;
	const char *why;
	size_t at, len;

	memset(text, 'x', sizeof(text));
	assert_int_equal(parse(text, APP_NAME_MAX, &m, &why, &at), 0);
	assert_int_equal(strlen(m.name), APP_NAME_MAX);
	assert_int_equal(parse(text, APP_NAME_MAX + 1, &m, &why, &at), -EINVAL);

	memcpy(text, "x kk=", 5);
	memset(text + 5, 'v', sizeof(text) - 5);
	assert_int_equal(parse(text, APP_MESSAGE_MAX, &m, &why, &at), 0);
	assert_string_equal(m.args[0].text, "vvvvvvvvvvvvvvv");
	assert_int_equal(parse(text, APP_MESSAGE_MAX + 1, &m, &why, &at), -EINVAL);
	assert_non_null(strstr(why, "longer than 1024"));
	text[APP_MESSAGE_MAX] = '\n';
	assert_int_equal(parse(text, APP_MESSAGE_MAX + 1, &m, &why, &at), 0);

	memset(text, 'k', sizeof(text));
	memcpy(text, "x ", 2);
	text[2 + APP_KEY_MAX] = '=';
	assert_int_equal(parse(text, 2 + APP_KEY_MAX + 2, &m, &why, &at), 0);
	text[2 + APP_KEY_MAX] = 'k';
	text[2 + APP_KEY_MAX + 1] = '=';
	assert_int_equal(parse(text, 2 + APP_KEY_MAX + 3, &m, &why, &at), -EINVAL);

	len = sprintf(text, "x");
	for (int i = 0; i < APP_ARGS_MAX; i++)
		len += sprintf(text + len, " k%d=%d", i, i);
	assert_int_equal(parse(text, len, &m, &why, &at), 0);
	assert_int_equal(m.n_args, APP_ARGS_MAX);
	assert_int_equal(app_message__arg(&m, "k31")->number, 31);
	len += sprintf(text + len, " l=1");
	assert_int_equal(parse(text, len, &m, &why, &at), -EINVAL);
	assert_non_null(strstr(why, "at most 32"));
}

static int take_many(struct app_limits *l, uid_t uid, uint64_t now, int n)
{
	int taken = 0;

	while (n--)
		taken += app_limits__take(l, uid, now);
	return taken;
}

static void limits(void **state)
{
	static struct app_limits l;
	uint64_t now = 1000 * SEC;

	assert_int_equal(take_many(&l, 1, now, 1000), APP_LIMIT_BURST);
	assert_int_equal(take_many(&l, 2, now, 10), 10); /* the bucket of another user */
	assert_int_equal(take_many(&l, 1, now + SEC, 1000), APP_LIMIT_RATE);
	assert_int_equal(take_many(&l, 1, now + SEC, 1000), 0);
	assert_int_equal(take_many(&l, 1, now + 1000 * SEC, 1000), APP_LIMIT_BURST);
}

/* A sender with many uids takes no bucket away from others. */
static void limits_of_many_users(void **state)
{
	static struct app_limits l;
	uint64_t now = 1000 * SEC;

	for (uid_t uid = 100000; uid < 100070; uid++)
		assert_int_equal(take_many(&l, uid, now, 1000), APP_LIMIT_BURST);
	for (uid_t uid = 1; uid < 20; uid++)
		assert_int_equal(take_many(&l, uid, now, 1000), APP_LIMIT_BURST);
	/* more senders than buckets: they share buckets, and whoever has one keeps it */
	for (uid_t uid = 200000; uid < 220000; uid++)
		app_limits__take(&l, uid, now);
	assert_int_equal(take_many(&l, 1, now, 1), 0);
	assert_int_equal(take_many(&l, 1, now + SEC, 1000), APP_LIMIT_RATE);
	/* all buckets are full again */
	now += 10 * SEC;
	assert_int_equal(take_many(&l, 5000, now, 1000), APP_LIMIT_BURST);
}

/* All ranges of one owner count as one user. */
static void limits_of_ranges(void **state)
{
	static struct app_limits l;
	char text[] =
		"ann:100000:65536\n# none\nbob:200000:65536\nann:300000:10\nx:1\ny:a:b\n:\nz:1:0\n";
	uint64_t now = 1000 * SEC;

	app_limits__set_ranges(&l, text);
	assert_int_equal(l.n_ranges, 3);
	assert_int_equal(take_many(&l, 100000, now, 150), 150);
	assert_int_equal(take_many(&l, 165535, now, 30), 30);
	assert_int_equal(take_many(&l, 300009, now, 1000), APP_LIMIT_BURST - 180);
	assert_int_equal(take_many(&l, 100001, now, 1000), 0);
	assert_int_equal(take_many(&l, 300010, now, 1000), APP_LIMIT_BURST);
	assert_int_equal(take_many(&l, 265535, now, 1000), APP_LIMIT_BURST);
	assert_int_equal(take_many(&l, 99999, now, 1000), APP_LIMIT_BURST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_durations),
		cmocka_unit_test(values),
		cmocka_unit_test(refused),
		cmocka_unit_test(lengths),
		cmocka_unit_test(limits),
		cmocka_unit_test(limits_of_many_users),
		cmocka_unit_test(limits_of_ranges),
	};

	return cmocka_run_group_tests_name("app_message", tests, NULL, NULL);
}
