// SPDX-License-Identifier: GPL-2.0-only
/* The output of `show` for a manifest. Needs no root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/json_fields.h"
#include "cmd/next_session.h"
#include "cmd/show_stacks.h"

/* The session chosen for a trigger of @source, @when. */
static const char *told_session(const char *source, const char *when)
{
	static char name[64];
	json_t *m = json_pack(
		"{s:[{s:s, s:s}], s:[{s:s, s:s, s:s}, {s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:s, s:s},"
		" {s:s, s:s, s:s}]}",
		"triggers", "source", source, "when", when, "sessions", "name", "cpu", "run",
		"-e cycles -F 99 -g -a", "file", "a", "name", "fileless", "run",
		"-e sched:sched_wakeup -e block:* -a", "name", "sched", "run",
		"-e sched:sched_switch -e sched:sched_wakeup -a", "file", "b", "name", "calls",
		"run", "-e raw_syscalls:* -a", "file", "c", "name", "oom", "run",
		"-e oom:mark_victim -e signal:* -a", "file", "d");

	assert_non_null(m);
	snprintf(name, sizeof(name), "%s", str(next_session(m), "name"));
	json_decref(m);
	return name;
}

static void the_session_with_the_answer(void **state)
{
	assert_string_equal(told_session("runqlat", "runqlat > 20ms"), "sched");
	assert_string_equal(told_session("offcpu", "offcpu > 1s"), "sched");
	assert_string_equal(told_session("syscall", "syscall:fsync > 1s"), "calls");
	assert_string_equal(told_session("tracepoint", "oom:mark_victim"), "oom");
	assert_string_equal(told_session("tracepoint", "signal:signal_generate"), "oom");
	assert_string_equal(told_session("span", "sched:a -> sched:b by pid > 1ms"), "sched");
	/* no session fits, or only one whose dump was not written */
	assert_string_equal(told_session("blkio", "blkio > 1s"), "cpu");
	assert_string_equal(told_session("manual", ""), "cpu");
}

/* The printed lines for these stacks. */
static void printed(json_t *stacks, char text[static 1024])
{
	FILE *to = tmpfile();
	int out = dup(STDOUT_FILENO);
	size_t n;

	assert_non_null(to);
	fflush(stdout);
	dup2(fileno(to), STDOUT_FILENO);
	show_stacks__print(stacks);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	rewind(to);
	n = fread(text, 1, 1023, to);
	text[n] = '\0';
	fclose(to);
	json_decref(stacks);
}

static void words_that_are_no_frames(void **state)
{
	char text[1024];

	printed(json_pack("{s:[{s:s, s:s, s:s, s:i}, {s:s}, {s:s, s:s, s:i}, {s:s}]}", "user",
			  "address", "0x1000", "module", "/usr/bin/x", "symbol", "work",
			  "symbol_offset", 16, "address", "0x78652e73746e656d", "address", "0x2000",
			  "module", "/usr/lib/y.so", "offset", 32, "address", "0x7"),
		text);
	assert_string_equal(text, "  user       work+0x10 (x)\n"
				  "             0x20 (y.so)\n"
				  "             2 words without a map (no frame pointers?)\n");
	printed(json_pack("{s:[{s:s}]}", "kernel", "address", "0xffffffff81000000"), text);
	assert_string_equal(text, "  kernel     1 word without a map\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_session_with_the_answer),
		cmocka_unit_test(words_that_are_no_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
