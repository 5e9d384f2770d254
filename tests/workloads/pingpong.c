// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two threads on one CPU pass a byte back and forth: a known number of write() calls and of context
 * switches, which the kernel counts for each thread (getrusage). A recorder must have seen exactly
 * these.
 *
 *	pingpong [--loops N] [--cpu C]
 *
 * Prints one line of JSON: per thread its tid, the time between its two readings of the counter,
 * the switches away from it in that time, and its write() calls in that time (system call number
 * write_nr).
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workload.h"

struct player {
	pthread_t thread;
	int cpu, loops;
	int in, out; /* ends of two pipes */
	pid_t tid;
	uint64_t begin, end; /* ns */
	long switches;
};

/*
 * Get the number of switches away from this thread, and the time, with no switch between the two
 * readings.
 */
static long read_switches(uint64_t *ret_time)
{
	struct rusage before, after;

	do {
		getrusage(RUSAGE_THREAD, &before);
		*ret_time = now_ns();
		getrusage(RUSAGE_THREAD, &after);
	} while (before.ru_nvcsw != after.ru_nvcsw || before.ru_nivcsw != after.ru_nivcsw);
	return after.ru_nvcsw + after.ru_nivcsw;
}

static void *player_main(void *arg)
{
	struct player *p = arg;
	cpu_set_t set;
	char byte;
	long begin;

	CPU_ZERO(&set);
	CPU_SET(p->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot pin to the CPU", errno);
	prctl(PR_SET_NAME, "pingpong");
	p->tid = (pid_t)syscall(SYS_gettid);
	begin = read_switches(&p->begin);
	for (int i = 0; i < p->loops; i++)
		if (write(p->out, "", 1) != 1 || read(p->in, &byte, 1) != 1)
			die("pipe", errno);
	p->switches = read_switches(&p->end) - begin;
	return NULL;
}

static void parse_options(int argc, char **argv, int *loops, int *cpu)
{
	static const struct option options[] = {
		{ "loops", required_argument, NULL, 'n' },
		{ "cpu", required_argument, NULL, 'C' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			*loops = atoi(optarg);
			break;
		case 'C':
			*cpu = atoi(optarg);
			break;
		default:
			*loops = 0;
		}
	}
	if (optind < argc || *loops < 1 || *cpu < 0) {
		fprintf(stderr, "usage: pingpong [--loops N] [--cpu C]\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int loops = 20000, cpu = sched_getcpu(), ping[2], pong[2];
	struct player players[2];

	parse_options(argc, argv, &loops, &cpu);
	if (pipe(ping) || pipe(pong))
		die("pipe", errno);
	players[0] = (struct player){ .cpu = cpu, .loops = loops, .in = pong[0], .out = ping[1] };
	players[1] = (struct player){ .cpu = cpu, .loops = loops, .in = ping[0], .out = pong[1] };
	for (int i = 0; i < 2; i++) {
		int err = pthread_create(&players[i].thread, NULL, player_main, &players[i]);

		if (err)
			die("pthread_create", err);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(players[i].thread, NULL);
	printf("{\"pid\":%d,\"tid\":%d,\"comm\":\"pingpong\",\"write_nr\":%d,\"players\":[",
	       getpid(), getpid(), (int)SYS_write);
	for (int i = 0; i < 2; i++)
		printf("%s{\"tid\":%d,\"begin_ns\":%llu,\"end_ns\":%llu,\"switches\":%ld,"
		       "\"writes\":%d}",
		       i ? "," : "", players[i].tid, (unsigned long long)players[i].begin,
		       (unsigned long long)players[i].end, players[i].switches, loops);
	printf("]}\n");
	return 0;
}
