/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The threads of a process, with their names, by id: those that live and those that exited a moment
 * ago, which are still sampled. Not locked.
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
	char comm[TASK_COMM_LEN]; /* NUL terminated; "": not known */
};

struct thread_list {	  /* { 0 } is an empty one */
	struct thread *v; /* by tid; owned */
	uint32_t n, cap;
	uint32_t n_living; /* of n */
};

void thread_list__free(struct thread_list *l);
/* An exec ends all threads; their names are forgotten. */
void thread_list__clear(struct thread_list *l);

const struct thread *thread_list__find(const struct thread_list *l, uint32_t tid); /* or NULL */
/* Name a thread, which lives from now on. Longer names are cut. 0 or -ENOMEM. */
int thread_list__set(struct thread_list *l, uint32_t tid, const char *comm, size_t len);
void thread_list__remove(struct thread_list *l, uint32_t tid);
/* It has exited at @time (ns); its name stays. False: there is no such thread that lives. */
bool thread_list__exit(struct thread_list *l, uint32_t tid, uint64_t time);

/* The first living thread at or after @i; NULL: none. */
const struct thread *thread_list__living(const struct thread_list *l, uint32_t i);

#define FOR_EACH_LIVING(t, l)                                                                      \
	for (t = thread_list__living(l, 0); t; t = thread_list__living(l, t - (l)->v + 1))

/* Do both have the same living threads, of the same names? */
bool thread_list__same(const struct thread_list *a, const struct thread_list *b);

int thread_list__copy(const struct thread_list *from, struct thread_list *ret); /* or -ENOMEM */
size_t thread_list__bytes(const struct thread_list *l);				/* allocated */

#endif
