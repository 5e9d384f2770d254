// SPDX-License-Identifier: GPL-2.0-only
/* What the recorder reads about the process of a culprit. Needs no root. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/proc_file.h"
#include "daemon/culprit_reader.h"

static struct examiner *examiner;

static json_t *why_culprit(pid_t pid, const char *process)
{
	json_t *why = json_pack("{s:{s:i, s:s, s:n, s:n}}", "culprit", "pid", (int)pid, "process",
				process, "command", "cgroup");

	assert_non_null(why);
	return why;
}

/*
 * Is the command filled in for @pid, if the answer names @process and the interval ended at @end?
 */
static bool is_completed(pid_t pid, const char *process, uint64_t end)
{
	json_t *why = why_culprit(pid, process), *o = json_object_get(why, "culprit");
	bool set = culprit_reader__complete(examiner, end, why);
	const char *command = json_string_value(json_object_get(o, "command"));

	assert_true(set == !!command);
	if (set)
		assert_non_null(strstr(command, "test_culprit_reader"));
	json_decref(why);
	return set;
}

static void command_only_of_the_same_process(void **state)
{
	pid_t pid = fork();
	char comm[PROC_COMM];
	int dir;

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with a test that fails */
		pause();
		_exit(0);
	}
	dir = proc_file__open_task(pid);
	assert_true(dir >= 0);
	assert_int_equal(proc_file__comm(dir, comm), 0);
	close(dir);
	assert_true(is_completed(pid, comm, now_ns()));
	assert_false(is_completed(pid, comm, 1000000)); /* the process was born later */
	assert_false(is_completed(pid, "another", now_ns()));
	assert_false(is_completed(0, comm, now_ns()));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(is_completed(pid, comm, now_ns()));
}

static void known_command_is_kept(void **state)
{
	json_t *why = json_pack("{s:{s:i, s:s, s:s, s:n}}", "culprit", "pid", (int)getpid(),
				"process", "test_culprit_re", "command", "known", "cgroup");
	json_t *nobody = json_pack("{s:n}", "culprit");

	assert_false(culprit_reader__complete(examiner, now_ns(), why));
	assert_false(culprit_reader__complete(examiner, now_ns(), nobody));
	json_decref(why);
	json_decref(nobody);
}

static int start_examiner(void **state)
{
	return examiner__new(&examiner);
}

static int end_examiner(void **state)
{
	examiner__free(examiner);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(command_only_of_the_same_process),
		cmocka_unit_test(known_command_is_kept),
	};

	return cmocka_run_group_tests(tests, start_examiner, end_examiner);
}
