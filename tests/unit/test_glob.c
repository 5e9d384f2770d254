// SPDX-License-Identifier: GPL-2.0-only
/* Globs: the automaton of BPF must agree with matching by backtracking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "rules/glob.h"

static void globs(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool fits;
	} cases[] = {
		{ "", "", true },	   { "", "a", false },
		{ "*", "", true },	   { "a", "a", true },
		{ "a", "ab", false },	   { "*a", "bca", true },
		{ "*a", "ab", false },	   { "a*b*c", "aXbYc", true },
		{ "a*b*c", "acb", false }, { "?", "", false },
		{ "??", "ab", true },	   { "**", "ab", true },
		{ "[a-c]x", "bx", true },  { "[a-c]x", "dx", false },
		{ "[!a-c]", "d", true },   { "[^a-c]", "a", false },
		{ "[]]", "]", true },	   { "[!]]", "]", false },
		{ "[a-]", "-", true },	   { "[*]", "*", true },
		{ "[*]", "a", false },	   { "a]", "a]", true },
		{ "[!a]", "", false },	   { "\xc3*", "\xc3\xb6", true },
		{ "*aab", "aaab", true },  { "kworker/*:*", "kworker/0:1H", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *why, *name = cases[i].name;
		struct frbpf_glob g;
		uint32_t set = 1;
		size_t least;

		assert_int_equal(glob__compile(cases[i].pattern, &g, &least, &why), 0);
		for (const char *p = name; *p; p++)
			set = (set & g.next[(unsigned char)*p]) << 1 | (set & g.loop);
		if (!(set & g.accept) == cases[i].fits ||
		    glob__match(cases[i].pattern, name, strlen(name)) != cases[i].fits)
			fail_msg("'%s' and '%s'", cases[i].pattern, name);
		assert_true(!cases[i].fits || least <= strlen(name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
