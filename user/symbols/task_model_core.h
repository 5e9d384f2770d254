/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of the task model. Private to task_model.c, task_apply.c and task_emit.c. */
#ifndef FRBPF_SYMBOLS_TASK_MODEL_CORE_H
#define FRBPF_SYMBOLS_TASK_MODEL_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/task_model.h"

/*
 * ---- the threads of a process and their names, by id ----
 *
 * Includes threads that have just exited, because they are still sampled. Not locked.
 */

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

/* ---- the processes ---- */

/* The namespaces of a process. Immutable, and shared by all processes with the same namespaces. */
struct namespaces {
	UT_hash_handle hh; /* by content: v[0..n) */
	uint32_t refs;
	uint32_t n;
	uint64_t v[][2]; /* {device, inode}, in the kernel's order */
};

struct namespace_pool { /* { 0 } is an empty one */
	struct namespaces *sets;
	size_t bytes;
};

/* Find or create the set, and take a reference. -ENOMEM. */
int namespaces__get(struct namespace_pool *pool, const uint64_t (*v)[2], size_t n,
		    struct namespaces **ret);
struct namespaces *namespaces__share(struct namespaces *ns); /* NULL stays NULL */
void namespaces__put(struct namespace_pool *pool, struct namespaces *ns);

struct process {
	UT_hash_handle hh; /* by pid */
	uint32_t pid;
	uint64_t since; /* ns: the effects of older records are included */
	struct thread_list threads;
	struct map_list *maps; /* shared */
	struct namespaces *ns; /* shared; NULL: unknown */
};

/* Exited threads, in order of exit: a circular buffer that grows. */
struct exits {
	struct exited {
		uint64_t time; /* ns */
		uint32_t pid, tid;
	} * v; /* owned */
	size_t first, n, cap;
};

struct task_model {
	struct process *processes;
	struct namespace_pool namespaces;
	struct map_pool maps;
	struct kernel_state kernel;
	struct exits exits;
	size_t bytes; /* without the pools and the kernel's state */
};

struct process *process__find(const struct task_model *m, uint32_t pid); /* or NULL */
int process__new(struct task_model *m, uint32_t pid, uint64_t since, struct process **ret);
int process__find_or_new(struct task_model *m, uint32_t pid, struct process **ret);
void process__free(struct task_model *m, struct process *p);

/* Change threads and maps of a process, and update the model's count of bytes. */
int process__set_comm(struct task_model *m, struct process *p, uint32_t tid, const char *comm,
		      size_t len);
void process__drop_maps(struct task_model *m, struct process *p);

/* Drop threads that exited so long before @now (ns) that no sample can refer to them. */
void exits__reap(struct task_model *m, uint64_t now);

#endif
