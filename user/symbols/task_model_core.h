/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of the task model. Private to task_model.c, task_apply.c and task_emit.c. */
#ifndef FRBPF_SYMBOLS_TASK_MODEL_CORE_H
#define FRBPF_SYMBOLS_TASK_MODEL_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/task_model.h"

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
