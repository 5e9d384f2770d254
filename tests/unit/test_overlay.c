// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "daemon/overlay.h"

static struct ruleset *file_rules(void)
{
	struct ruleset *rs = NULL;
	struct diags d = { 0 };
	struct source_text *src;

	assert_int_equal(source_text__from_string("f",
						  "[session-a]\nrun = -a\n"
						  "[rule-arm-1]\nwhen = runqlat > 1s\n",
						  &src),
			 0);
	assert_int_equal(ruleset__parse(src, &d, &rs), 0);
	diags__free(&d);
	return rs;
}

static void armed_rules_join_those_of_the_file(void **state)
{
	struct ruleset *rs = file_rules();
	struct overlay *o = overlay__new();
	char name[RULESET_NAME_MAX + 1];
	struct diags d = { 0 };
	struct err err;

	assert_int_equal(overlay__arm(o, rs, "runqlat > 2s", "cpu == 1", 100, name, &err), 0);
	assert_string_equal(name, "arm-2"); /* the file has an arm-1 */
	assert_int_equal(overlay__extend(o, rs, &d), 0);
	assert_int_equal(d.n, 0);
	assert_int_equal(rs->n_rules, 2);
	assert_string_equal(rs->rules[1].name, "arm-2");
	assert_string_equal(rs->rules[1].when_text, "runqlat > 2s");
	assert_string_equal(rs->rules[1].if_text, "cpu == 1");
	assert_int_equal(rs->rules[1].n_sessions, 1);
	assert_int_equal(overlay__armed_until(o, "arm-2"), 100);
	assert_int_equal(overlay__armed_until(o, "arm-1"), 0);
	/* extending the same ruleset twice: the name is in use */
	assert_int_equal(overlay__extend(o, rs, &d), -EINVAL);
	assert_non_null(strstr(d.v[0].msg, "arm --off arm-2"));
	diags__free(&d);
	overlay__free(o);
	ruleset__free(rs);
}

static void a_mistake_points_into_the_command(void **state)
{
	struct ruleset *rs = file_rules();
	struct overlay *o = overlay__new();
	char name[RULESET_NAME_MAX + 1];
	struct diags d = { 0 };
	struct buf out = { 0 };
	struct err err;

	assert_int_equal(overlay__arm(o, rs, "runqlat > 2x", NULL, 100, name, &err), 0);
	assert_int_equal(overlay__extend(o, rs, &d), -EINVAL);
	assert_int_equal(diags__format(&d, &out), 0);
	assert_non_null(strstr(out.data, "frbpf arm: error: "));
	assert_non_null(
		strstr(out.data, "      | when = runqlat > 2x\n      |                  ^"));
	buf__free(&out);
	diags__free(&d);
	assert_int_equal(overlay__arm(o, rs, "a\nb", NULL, 1, name, &err), -EINVAL);
	assert_int_equal(overlay__arm(o, rs, "a\\", NULL, 1, name, &err), -EINVAL);
	assert_int_equal(overlay__arm(o, rs, "a", "b\rc", 1, name, &err), -EINVAL);
	overlay__free(o);
	ruleset__free(rs);
}

static void mutes_and_arms_end(void **state)
{
	struct ruleset *rs = file_rules();
	struct overlay *o = overlay__new();
	char name[RULESET_NAME_MAX + 1];
	uint64_t wait;
	struct err err;

	assert_false(overlay__expire(o, 1, &wait));
	assert_true(wait == UINT64_MAX);
	assert_int_equal(overlay__mute(o, "arm-1", 100), 0);
	assert_int_equal(overlay__mute(o, "gone", OVERLAY_FOREVER), 0);
	assert_int_equal(overlay__mute(o, "arm-1", 200), 0);
	assert_int_equal(overlay__arm(o, rs, "runqlat > 2s", NULL, 300, name, &err), 0);
	assert_int_equal(overlay__muted_until(o, "arm-1"), 200);
	assert_false(overlay__expire(o, 150, &wait));
	assert_int_equal(wait, 50);
	assert_false(overlay__expire(o, 200, &wait)); /* a mute ended: no new ruleset is needed */
	assert_int_equal(wait, 100);
	assert_int_equal(overlay__muted_until(o, "arm-1"), 0);
	assert_true(overlay__expire(o, 300, &wait));
	assert_true(wait == UINT64_MAX);
	assert_int_equal(overlay__disarm(o, name), -ENOENT);
	assert_int_equal(overlay__unmute(o, "arm-1"), -ENOENT);
	assert_int_equal(overlay__unmute(o, "gone"), 0);
	overlay__free(o);
	ruleset__free(rs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(armed_rules_join_those_of_the_file),
		cmocka_unit_test(a_mistake_points_into_the_command),
		cmocka_unit_test(mutes_and_arms_end),
	};

	return cmocka_run_group_tests_name("overlay", tests, NULL, NULL);
}
