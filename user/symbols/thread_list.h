/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The threads of a process and their names, by id. Includes threads that have just exited, because
 * they are still sampled. Not locked.
 */
#ifndef FRBPF_SYMBOLS_THREAD_LIST_H
#define FRBPF_SYMBOLS_THREAD_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TASK_COMM_LEN 16

struct thread {
	uint64_t exited; /* ns; 0: it lives */
	uint32_t tid;
	char comm[TASK_COMM_LEN]; /* NUL terminated; "": unknown */
};

struct thread_list {	  /* { 0 } is an empty one */
	struct thread *v; /* by tid; owned */
	uint32_t n, cap;
	uint32_t n_living; /* of n */
};

void thread_list__free(struct thread_list *l);
/* Drop all threads: an exec ends them. */
void thread_list__clear(struct thread_list *l);

const struct thread *thread_list__find(const struct thread_list *l, uint32_t tid); /* or NULL */
/* Name a thread, which counts as living from now on. Long names are cut. 0 or -ENOMEM. */
int thread_list__set(struct thread_list *l, uint32_t tid, const char *comm, size_t len);
void thread_list__remove(struct thread_list *l, uint32_t tid);
/* Mark a thread as exited at @time (ns); its name stays. False: no such living thread. */
bool thread_list__exit(struct thread_list *l, uint32_t tid, uint64_t time);

/* The first living thread at or after @i; NULL: none. */
const struct thread *thread_list__living(const struct thread_list *l, uint32_t i);

#define FOR_EACH_LIVING(t, l)                                                                      \
	for (t = thread_list__living(l, 0); t; t = thread_list__living(l, t - (l)->v + 1))

/* Do both have the same living threads, with the same names? */
bool thread_list__same(const struct thread_list *a, const struct thread_list *b);

int thread_list__copy(const struct thread_list *from, struct thread_list *ret); /* or -ENOMEM */
size_t thread_list__bytes(const struct thread_list *l);				/* allocated */

#endif
