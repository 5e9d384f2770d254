// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints its pid, then ends by a fault in a named function: crash [segv|abort|handled]. With
 * "handled" a signal handler recovers from the fault, and the exit status is 0.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile uintptr_t nowhere = 8;

__attribute__((noipa)) void crash_write(int value)
{
	*(volatile int *)(nowhere + (getppid() < 0)) =
		value; /* not a leaf function, so it has a frame */
	nowhere = value;
}

__attribute__((noipa)) void crash_outer(int value)
{
	crash_write(value);
	nowhere = value + 1;
}

static sigjmp_buf way_out;

static void handler(int sig)
{
	(void)sig;
	siglongjmp(way_out, 1);
}

int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	printf("{\"pid\": %d}\n", getpid());
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	if (argc > 1 && !strcmp(argv[1], "handled")) {
		signal(SIGSEGV, handler);
		if (sigsetjmp(way_out, 1))
			return 0;
	}
	crash_outer(1);
	return 0;
}
