// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a task wait for a CPU: a hog wakes the victim, both pinned to one CPU, and then keeps the
 * CPU for N ms. With SCHED_FIFO the hog cannot be preempted, and the victim, of a lower priority,
 * runs next. No other task runs in between: some virtual machines hide a switch from a thread of
 * PID 1 from every user of tracepoints. Where FIFO is refused, hogs of normal policy delay a victim
 * of SCHED_IDLE.
 *
 *	runq_spike [--ms N] [--comm NAME] [--cpu C] [--no-fifo]
 *
 *	--ms N		how long the hog keeps the CPU (50)
 *	--comm NAME	of the victim (frbpf-victim)
 *	--cpu C		the last one that is allowed
 *	--no-fifo	hogs of normal policy even where FIFO is allowed
 *
 * Prints one line of JSON. begin_ns lies before the wakeup and end_ns after the victim's first
 * instruction, so the kernel's own measure of the wait is inside. Exit status 1 when the wait came
 * out shorter than N ms.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

#define COMM_MAX    15
#define NORMAL_HOGS 4

struct spike {
	uint64_t ms;
	const char *comm;
	int cpu;
	bool fifo;
	int wake_fd;
	pid_t victim_tid;    /* 0: not there yet; atomic */
	uint64_t hold_until; /* the other hogs spin until then; 0: not known yet; atomic */
	uint64_t begin, end; /* of the wait; the hog takes begin, the victim end */
};

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot pin to the CPU", errno);
}

static int last_allowed_cpu(void)
{
	cpu_set_t set;
	int last = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("sched_getaffinity", errno);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			last = cpu;
	return last;
}

static void *victim_main(void *arg)
{
	const struct sched_param lowest = { 0 }, lowest_fifo = { .sched_priority = 1 };
	struct spike *s = arg;
	uint64_t count;

	pin(s->cpu);
	prctl(PR_SET_NAME, s->comm);
	if (s->fifo && sched_setscheduler(0, SCHED_FIFO, &lowest_fifo))
		die("SCHED_FIFO", errno);
	if (!s->fifo && sched_setscheduler(0, SCHED_IDLE, &lowest))
		die("SCHED_IDLE", errno);
	__atomic_store_n(&s->victim_tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	if (read(s->wake_fd, &count, sizeof(count)) != sizeof(count))
		die("read from eventfd", errno);
	s->end = now_ns();
	return NULL;
}

/* Does the victim sleep in read()? Only then the write to the eventfd is a wakeup. */
static bool victim_sleeps(const struct spike *s)
{
	char path[64], state = 0;
	pid_t tid = __atomic_load_n(&s->victim_tid, __ATOMIC_ACQUIRE);
	FILE *f;

	if (!tid)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'S';
}

static void spin_until(uint64_t end)
{
	while (now_ns() < end)
		;
}

static void *waker_main(void *arg)
{
	const struct timespec tick = { .tv_nsec = 1000000 };
	const struct sched_param above_victim = { .sched_priority = 2 };
	struct spike *s = arg;
	uint64_t one = 1;

	pin(s->cpu);
	if (s->fifo && sched_setscheduler(0, SCHED_FIFO, &above_victim))
		die("SCHED_FIFO", errno);
	while (!victim_sleeps(s))
		nanosleep(&tick, NULL);
	s->begin = now_ns();
	__atomic_store_n(&s->hold_until, s->begin + s->ms * 1000000, __ATOMIC_RELEASE);
	if (write(s->wake_fd, &one, sizeof(one)) != sizeof(one))
		die("write to eventfd", errno);
	/* a little longer, because the wait begins inside write() */
	spin_until(now_ns() + s->ms * 1000000);
	return NULL;
}

static void *hog_main(void *arg)
{
	const struct timespec tick = { .tv_nsec = 1000000 };
	struct spike *s = arg;
	uint64_t until;

	pin(s->cpu);
	while (!(until = __atomic_load_n(&s->hold_until, __ATOMIC_ACQUIRE)))
		nanosleep(&tick, NULL);
	spin_until(until);
	return NULL;
}

static bool fifo_allowed(void)
{
	const struct sched_param fifo = { .sched_priority = 1 }, normal = { 0 };

	if (sched_setscheduler(0, SCHED_FIFO, &fifo))
		return false;
	sched_setscheduler(0, SCHED_OTHER, &normal);
	return true;
}

static void start(pthread_t *thread, void *(*fn)(void *), struct spike *s)
{
	int err = pthread_create(thread, NULL, fn, s);

	if (err)
		die("pthread_create", err);
}

static void run(struct spike *s)
{
	pthread_t victim, waker, hogs[NORMAL_HOGS];
	int n_hogs = s->fifo ? 0 : NORMAL_HOGS;

	start(&victim, victim_main, s);
	for (int i = 0; i < n_hogs; i++)
		start(&hogs[i], hog_main, s);
	start(&waker, waker_main, s);
	pthread_join(waker, NULL);
	for (int i = 0; i < n_hogs; i++)
		pthread_join(hogs[i], NULL);
	pthread_join(victim, NULL);
}

static void parse_options(int argc, char **argv, struct spike *s)
{
	static const struct option options[] = {
		{ "ms", required_argument, NULL, 'm' },
		{ "comm", required_argument, NULL, 'c' },
		{ "cpu", required_argument, NULL, 'C' },
		{ "no-fifo", no_argument, NULL, 'n' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'm':
			s->ms = strtoull(optarg, NULL, 10);
			break;
		case 'c':
			s->comm = optarg;
			break;
		case 'C':
			s->cpu = atoi(optarg);
			break;
		case 'n':
			s->fifo = false;
			break;
		default:
			exit(2);
		}
	}
	if (optind < argc || !s->ms || strlen(s->comm) > COMM_MAX || strpbrk(s->comm, "\"\\")) {
		fprintf(stderr, "usage: runq_spike [--ms N] [--comm NAME] [--cpu C] [--no-fifo]\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct spike s = {
		.ms = 50,
		.comm = "frbpf-victim",
		.cpu = last_allowed_cpu(),
		.fifo = fifo_allowed(),
	};
	uint64_t wait;

	parse_options(argc, argv, &s);
	s.wake_fd = eventfd(0, EFD_CLOEXEC);
	if (s.wake_fd < 0)
		die("eventfd", errno);
	run(&s);
	wait = s.end - s.begin;
	printf("{\"pid\":%d,\"tid\":%d,\"comm\":\"%s\",\"wait_ns\":%llu,\"begin_ns\":%llu,"
	       "\"end_ns\":%llu,\"cpu\":%d,\"policy\":\"%s\"}\n",
	       getpid(), s.victim_tid, s.comm, (unsigned long long)wait,
	       (unsigned long long)s.begin, (unsigned long long)s.end, s.cpu,
	       s.fifo ? "fifo" : "other");
	if (wait < s.ms * 1000000) {
		fprintf(stderr, "runq_spike: the victim waited %llu us only\n",
			(unsigned long long)wait / 1000);
		return 1;
	}
	return 0;
}
