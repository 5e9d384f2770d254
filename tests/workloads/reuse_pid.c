// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs programs one after the other, all under one process id (clone3() with set_tid: root).
 *
 *	reuse_pid PROGRAM [ARGUMENT] [-- PROGRAM [ARGUMENT]]...
 *
 * Prints one line of JSON: the id that all of them had.
 */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

/* Run a program under the number *pid. 0: the kernel chooses the number, and *pid becomes it. */
static void run(char **argv, pid_t *pid)
{
	pid_t wanted = *pid, got;
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = wanted ? (uintptr_t)&wanted : 0,
		.set_tid_size = wanted ? 1 : 0,
	};
	int status;

	got = syscall(SYS_clone3, &args, sizeof(args));
	if (got == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	if (got < 0)
		die("clone3", errno);
	if (waitpid(got, &status, 0) != got || status) {
		fprintf(stderr, "reuse_pid: %s failed\n", argv[0]);
		exit(1);
	}
	*pid = got;
}

int main(int argc, char **argv)
{
	char **program = argv + 1;
	pid_t pid = 0;

	for (int i = 1; i <= argc; i++) {
		if (i < argc && strcmp(argv[i], "--") != 0)
			continue;
		argv[i] = NULL;
		if (program < argv + i)
			run(program, &pid);
		program = argv + i + 1;
	}
	printf("{\"pid\":%d,\"tid\":%d}\n", pid, pid);
	return 0;
}
