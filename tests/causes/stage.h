/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the cases of cause.c: the threads, what is measured, and the clocks. */
#ifndef FRBPF_CAUSES_STAGE_H
#define FRBPF_CAUSES_STAGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define EQUALS 6

/* Exit status of a cause that this machine cannot provoke. */
#define NOT_HERE 77

/* Shared by the threads and processes of a case. */
struct stage {
	long ns; /* how long the culprit takes */
	pthread_mutex_t lock, second;
	pthread_rwlock_t rwlock;
	pthread_barrier_t ready;
	int pair[2], other[2], third[2];
	char path[64];
	int fd;		  /* a file that subject and culprit use */
	int cpu;	  /* the last allowed CPU */
	atomic_int phase; /* also a futex word */
	atomic_int next;  /* index of the next culprit */
	atomic_bool stop;
	char *memory;
	bool others_idle; /* the other CPUs were idle, which the answer should say */
	volatile pid_t subject, culprit, culprits[EQUALS];
	uint64_t from, to;
};

uint64_t now_ns(void);
pid_t my_tid(void);
/* End the program: die() after a failure, not_here() if this machine cannot provoke the cause. */
void die(const char *what) __attribute__((noreturn));
void not_here(const char *what) __attribute__((noreturn));

void take_time(long ns);
/* Compute for @ns of CPU time of the thread, whatever else runs on the machine. */
void compute(long ns);

/* The calling thread is the subject: begin and end the measured interval. */
void begin(struct stage *s);
void end(struct stage *s);

pthread_t start(void *(*fn)(void *), struct stage *s);
/* Run @fn in a process of its own, which ends with this one. */
pid_t start_process(void *(*fn)(void *), struct stage *s);
void join_process(pid_t pid);
void pin(int cpu);
void real_time(int priority);
void wait_phase(struct stage *s, int phase);
/* Send a byte to @fd and get one back. */
void ask(struct stage *s, int fd);
/* Pass a byte from @from to @to, and one back. */
void relay(int from, int to);

/* A case that provokes one cause. */
struct cause_case {
	const char *name, *cause; /* the cause in frbpf why --json */
	void (*run)(struct stage *s);
};

extern const struct cause_case thread_cases[], memory_cases[], storage_cases[];

#endif
