// SPDX-License-Identifier: GPL-2.0-only
/* frbpf tune measures each source of the rule language, or says why it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/tune_source.h"
#include "common/cleanup.h"
#include "rules/ruleset.h"

static int parse_when(const char *text, struct when *ret)
{
	struct source_text *src;
	struct diags d = { 0 };
	int err;

	assert_int_equal(source_text__from_string("when", text, &src), 0);
	diags__keep(&d, src);
	err = when__parse(src, (struct span){ 0, src->len }, &d, ret);
	diags__free(&d);
	return err;
}

static const struct {
	const char *when;
	const char *refused; /* NULL: it is measured, and the rule is: */
	const char *rule;    /* with the threshold of step 15 */
} sources[] = {
	{ "runqlat > 1ms", NULL, "runqlat > 10ms" },
	{ "blocked > 1ms", NULL, "blocked > 10ms" },
	{ "offcpu > 1ms", NULL, "offcpu > 10ms" },
	{ "oncpu > 90% in 1s", NULL, "oncpu > 60% in 1s" },
	{ "oncpu > 90% in 10s per thread", NULL, "oncpu > 60% in 10s per thread" },
	{ "syscall:fsync,fdatasync > 1ms", NULL, "syscall:fsync,fdatasync > 10ms" },
	{ "syscall:* > 1ms", NULL, "syscall:* > 10ms" },
	{ "syscall:openat fails", "fires on errors", NULL },
	{ "syscall:openat fails (EMFILE)", "fires on errors", NULL },
	{ "connect > 1s", NULL, "connect > 10ms" },
	{ "connect fails", "fires on errors", NULL },
	{ "blkio > 1ms", NULL, "blkio > 10ms" },
	{ "blkio.device > 1ms", NULL, "blkio.device > 10ms" },
	{ "hardirq > 1ms", NULL, "hardirq > 10ms" },
	{ "softirq:net_rx > 1ms", NULL, "softirq:net_rx > 10ms" },
	{ "softirq:net_rx > 50% in 1s", NULL, "softirq:net_rx > 60% in 1s" },
	{ "reclaim > 1ms", NULL, "reclaim > 10ms" },
	{ "runqlat > 150% in 10s of /a", NULL, "runqlat > 60% in 10s of /a" },
	{ "psi:memory some > 150ms in 2s", "sum that the kernel makes", NULL },
	{ "oom:mark_victim", "an event, not a duration", NULL },
	{ "a:b -> c:d by cpu > 50ms", NULL, "a:b -> c:d by cpu > 10ms" },
	{ "a:b -> c:d by cpu nested > 50ms", NULL, "a:b -> c:d by cpu nested > 10ms" },
	{ "uprobe:libc:getaddrinfo", "with a threshold", NULL },
	{ "uprobe:libc:getaddrinfo > 1s", NULL, "uprobe:libc:getaddrinfo > 10ms" },
	{ "usdt:libc:libc:setjmp", "an event, not a duration", NULL },
	{ "usdt:a:b:c -> uprobe:a:d by tid > 1s", NULL, "usdt:a:b:c -> uprobe:a:d by tid > 10ms" },
	{ "app:request", "with a threshold", NULL },
	{ "app:request > 5ms", NULL, "app:request > 10ms" },
	{ "pending(blocked) > 5s", NULL, "pending(blocked) > 10ms" },
	{ "pending(syscall:fsync) > 5s", NULL, "pending(syscall:fsync) > 10ms" },
	{ "pending(uprobe:libc:getaddrinfo) > 5s", NULL,
	  "pending(uprobe:libc:getaddrinfo) > 10ms" },
	{ "absent(runqlat) > 5s", "fires when nothing comes", NULL },
	{ "absent(app:request) > 5s", "fires when nothing comes", NULL },
	{ "runqlat > p99 * 4", NULL, "runqlat > 10ms" },
	{ "blkio > max(p99 * 4, 5ms)", NULL, "blkio > 10ms" },
	{ "rule:a then rule:b within 2s", "combines other rules", NULL },
	{ "all of rule:a, rule:b within 2s", "combines other rules", NULL },
};

static void each_source_is_measured_or_refused(void **state)
{
	uint64_t told = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const char *text = sources[i].when, *why;
		struct when when;
		char line[128];

		if (parse_when(text, &when))
			fail_msg("'%s'", text);
		told |= 1ULL << when.source;
		why = tune_source__refusal(&when, true);
		if (!why != !sources[i].refused || (why && !strstr(why, sources[i].refused)))
			fail_msg("'%s': %s", text, why ?: "measured");
		tune_source__prepare(&when);
		if (!why) {
			assert_true(when__has_values(&when));
			assert_string_equal(tune_source__line(&when, text,
							      tune_source__step(&when, 15), line,
							      sizeof(line)),
					    sources[i].rule);
		}
		when__free(&when);
		/* what is printed can stand in a rules file */
		if (!why && parse_when(line, &when))
			fail_msg("'%s'", line);
		if (!why)
			when__free(&when);
	}
	for (const struct when_source_desc *s = when_sources; s->name; s++) {
		/*
		 * this source has the same hits as `tracepoint`, but is known only once the rule is
		 * bound to the kernel
		 */
		if (s->source != FRBPF_SOURCE_TRACEPOINT_FIELDS && !(told >> s->source & 1))
			fail_msg("'%s' is in no line", s->name);
	}
}

/* The subject of a pending span is the task at its start, not the task at its end. */
static void a_pending_span_with_a_condition_is_refused(void **state)
{
	struct when when;

	assert_int_equal(parse_when("pending(a:b -> c:d by cpu) > 1s", &when), 0);
	assert_null(tune_source__refusal(&when, false));
	assert_non_null(strstr(tune_source__refusal(&when, true), "another subject"));
	when__free(&when);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_source_is_measured_or_refused),
		cmocka_unit_test(a_pending_span_with_a_condition_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
