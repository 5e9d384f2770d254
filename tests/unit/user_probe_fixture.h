/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by tests of probes in user space: a function and a static probe of this program, rules on
 * them, and children that reach them, as this process is never a subject.
 */
#ifndef TESTS_UNIT_USER_PROBE_FIXTURE_H
#define TESTS_UNIT_USER_PROBE_FIXTURE_H

#include <limits.h>
#include <unistd.h>

#include "detect_fixture.h"
#include "probe_reader_fixture.h"

#define WATCHED __attribute__((noinline, noclone, used))

#define SKIP_UNLESS_UPROBES()                                                                      \
	do {                                                                                       \
		SKIP_UNLESS_POSSIBLE();                                                            \
		SKIP_IF(access("/sys/bus/event_source/devices/uprobe/type", R_OK),                 \
			"needs uprobes");                                                          \
	} while (0)

/* ---- the watched functions ---- */

WATCHED long watched_six(long a, long b, long c, long d, long e, long f);
WATCHED long watched_six(long a, long b, long c, long d, long e, long f)
{
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	return (unsigned long)a + b + c + d + e + f; /* unsigned, because the sum may overflow */
}

#if defined(__x86_64__)
#define ARGS "-4@%0 8@%1 1@$200 -2@$-9"
#elif defined(__aarch64__)
#define ARGS "-4@%0 8@%1 1@200 -2@-9"
#endif

WATCHED void watched_probe(long a, long b);
WATCHED void watched_probe(long a, long b)
{
#if defined(__x86_64__)
	int low = a;
#else
	long low = a;
#endif
	__asm__ volatile("990:	nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991:	.asciz \"stapsdt\"\n"
			 "992:	.balign 4\n"
			 "993:	.8byte 990b\n"
			 ".8byte _.stapsdt.base\n"
			 ".8byte 0\n"
			 ".asciz \"frbpf_unit\"\n"
			 ".asciz \"tick\"\n"
			 ".asciz \"" ARGS "\"\n"
			 "994:	.balign 4\n"
			 ".popsection\n"
			 ".ifndef _.stapsdt.base\n"
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
			 ".weak _.stapsdt.base\n"
			 ".hidden _.stapsdt.base\n"
			 "_.stapsdt.base: .space 1\n"
			 ".size _.stapsdt.base, 1\n"
			 ".popsection\n"
			 ".endif\n" ::"r"(low),
			 "r"(b));
}

/* ---- rules ---- */

static inline const char *own_path(void)
{
	static char path[PATH_MAX];
	ssize_t n = path[0] ? 0 : readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(n >= 0);
	return path;
}

/* Copy @from to @to; each "SELF" becomes the path of this program. Returns @to. */
static inline char *own_paths_put(const char *from, char *to)
{
	char *begin = to;
	const char *self;

	for (; (self = strstr(from, "SELF")); from = self + 4)
		to += sprintf(to, "%.*s%s", (int)(self - from), from, own_path());
	strcpy(to, from);
	return begin;
}

/* In @when, each "SELF" stands for this program. @condition may be NULL. */
static inline struct rule_conf rule_when(uint64_t id, const char *when, const char *condition)
{
	char text[3 * PATH_MAX];

	return rule_of(id, own_paths_put(when, text), condition);
}

/* @rules are sections that have "SELF" for this program and "NAME" for the subjects. */
static inline struct ruleset *rules_of(const char *rules)
{
	char text[4096];

	return parse_rules_text(own_paths_put(rules, text), NULL, NULL, 0);
}

/* ---- children ---- */

struct findings {
	uint64_t begin, end;
	pid_t pid;
};

static inline void await_success(pid_t pid)
{
	assert_int_equal(await(pid), 0);
}

static inline void run_six(struct findings *f, long n)
{
	for (long i = 0; i < n; i++)
		watched_six(i, -1, 3, 4, 5, 6);
}

static inline void run_probe(struct findings *f, long n)
{
	for (long i = 0; i < n; i++)
		watched_probe(-i, 1L << 40 | i);
}

#endif
