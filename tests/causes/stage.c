// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stage.h"

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

void die(const char *what)
{
	fprintf(stderr, "cause: %s: %s\n", what, strerror(errno));
	exit(1);
}

void not_here(const char *what)
{
	fprintf(stderr, "cause: not on this machine: %s: %s\n", what, strerror(errno));
	exit(NOT_HERE);
}

pid_t my_tid(void)
{
	return syscall(SYS_gettid);
}

__attribute__((noinline)) void take_time(long ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	while (syscall(SYS_nanosleep, &ts, &ts) < 0 && errno == EINTR)
		;
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void compute(long ns)
{
	struct timespec ts;
	uint64_t end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	end = ts.tv_sec * 1000000000ULL + ts.tv_nsec + ns;
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	} while (ts.tv_sec * 1000000000ULL + ts.tv_nsec < end);
}

void begin(struct stage *s)
{
	s->subject = my_tid();
	s->from = now_ns();
}

void end(struct stage *s)
{
	s->to = now_ns();
}

pthread_t start(void *(*fn)(void *), struct stage *s)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, s))
		die("pthread_create");
	return t;
}

pid_t start_process(void *(*fn)(void *), struct stage *s)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	fn(s);
	_exit(0); /* skip the functions of atexit(): those are for our parent */
}

void join_process(pid_t pid)
{
	int status;

	errno = ECHILD;
	if (waitpid(pid, &status, 0) != pid || status)
		die("a process of the case");
}

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

void real_time(int priority)
{
	const struct sched_param p = { .sched_priority = priority };

	if (sched_setscheduler(0, SCHED_FIFO, &p))
		die("SCHED_FIFO");
}

void wait_phase(struct stage *s, int phase)
{
	while (atomic_load(&s->phase) < phase)
		usleep(500);
}

void ask(struct stage *s, int fd)
{
	char c = 'x';

	usleep(2000); /* the server waits by then */
	begin(s);
	if (write(fd, &c, 1) != 1 || read(fd, &c, 1) != 1)
		die("ask");
	end(s);
}

void relay(int from, int to)
{
	char c;

	if (read(from, &c, 1) != 1 || write(to, &c, 1) != 1 || read(to, &c, 1) != 1 ||
	    write(from, &c, 1) != 1)
		die("relay");
}
