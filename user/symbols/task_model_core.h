/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of the task model: what its parts share. Private to task_model.c, task_apply.c and
 * task_emit.c. */
#ifndef FRBPF_SYMBOLS_TASK_MODEL_CORE_H
#define FRBPF_SYMBOLS_TASK_MODEL_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/task_model.h"

/* The sets of namespaces that processes live in: most share the same few, so each is kept once. Not
 * locked. */
/* Immutable and shared by all processes that live in the same namespaces. */
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

/* Find or make the set and take a reference. -ENOMEM. */
int namespaces__get(struct namespace_pool *pool, const uint64_t (*v)[2], size_t n,
		    struct namespaces **ret);
struct namespaces *namespaces__share(struct namespaces *ns); /* NULL stays NULL */
void namespaces__put(struct namespace_pool *pool, struct namespaces *ns);

struct process {
	UT_hash_handle hh; /* by pid */
	uint32_t pid;
	uint64_t since; /* records older than this are contained already */
	struct thread_list threads;
	struct map_list *maps; /* shared */
	struct namespaces *ns; /* shared; NULL: not known */
};

/* Threads in the order of their exits: a ring that grows. */
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
	size_t bytes; /* without those of the pools and the kernel's state */
};

struct process *process__find(const struct task_model *m, uint32_t pid); /* or NULL */
int process__new(struct task_model *m, uint32_t pid, uint64_t since, struct process **ret);
int process__find_or_new(struct task_model *m, uint32_t pid, struct process **ret);
void process__free(struct task_model *m, struct process *p);

/* Threads and maps of a process, with their bytes kept account of. */
int process__set_comm(struct task_model *m, struct process *p, uint32_t tid, const char *comm,
		      size_t len);
void process__drop_maps(struct task_model *m, struct process *p);

/* Forget who exited so long before @now (ns) that nothing can name it any more. */
void exits__reap(struct task_model *m, uint64_t now);

#endif
