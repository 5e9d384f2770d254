// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starts short processes, one after the other. Each spins for 5 ms of CPU time in
 * short_lived_spin() and exits. A recorder must still be able to name them later.
 *
 * short_lived [--count N]
 *
 * Prints one line of JSON with the children's pids. Their comm is "short_lived", as is the
 * parent's.
 */
#include <getopt.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ran.h"
#include "workload.h"

#define SPIN_ARG  "--spin-and-exit"
#define SPIN_NS	  5000000
#define MAX_COUNT 10000

extern char **environ;

__attribute__((noinline, noclone)) static uint64_t short_lived_spin(uint64_t ns)
{
	struct ran ran = { 0 };
	uint64_t sum = 0;

	while (ran__less(&ran, ns))
		for (unsigned int i = 0; i < 10000; i++) {
			sum += i * i;
			__asm__ volatile("" : "+r"(sum));
		}
	return sum;
}

static pid_t spawn_one(void)
{
	char *child_argv[] = { "short_lived", SPIN_ARG, NULL };
	char self[4096]; /* by its real path, because the file gives the process its name */
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int status, err;
	pid_t pid;

	self[len > 0 ? len : 0] = '\0';
	err = posix_spawn(&pid, self, NULL, NULL, child_argv, environ);
	if (err)
		die("posix_spawn", err);
	if (waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "short_lived: child %d failed\n", pid);
		exit(1);
	}
	return pid;
}

static int parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'n' },
		{ 0 },
	};
	int c, count = 20;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		count = c == 'n' ? atoi(optarg) : 0;
	if (optind < argc || count < 1 || count > MAX_COUNT) {
		fprintf(stderr, "usage: short_lived [--count N]\n");
		exit(2);
	}
	return count;
}

int main(int argc, char **argv)
{
	pid_t pids[MAX_COUNT];
	uint64_t begin;
	int count;

	if (argc == 2 && !strcmp(argv[1], SPIN_ARG)) {
		short_lived_spin(SPIN_NS);
		return 0;
	}
	count = parse_options(argc, argv);
	begin = now_ns();
	for (int i = 0; i < count; i++)
		pids[i] = spawn_one();
	printf("{\"pid\":%d,\"tid\":%d,\"comm\":\"short_lived\",\"begin_ns\":%llu,\"end_ns\":%llu,"
	       "\"children\":[",
	       getpid(), getpid(), (unsigned long long)begin, (unsigned long long)now_ns());
	for (int i = 0; i < count; i++)
		printf("%s%d", i ? "," : "", pids[i]);
	printf("]}\n");
	return 0;
}
