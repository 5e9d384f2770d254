/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What names addresses at one moment: per process the comm of its threads, its maps and
 * its namespaces; in common, the kernel's state. Filled from /proc (add_process ...) and from
 * records (apply); written as records again (emit). Not locked; several threads may read while none
 * writes.
 */
#ifndef FRBPF_SYMBOLS_TASK_MODEL_H
#define FRBPF_SYMBOLS_TASK_MODEL_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "symbols/kernel_state.h"
#include "symbols/map_list.h"

#define TASK_COMM_LEN 16

struct task_model;

int task_model__new(struct task_model **ret); /* -ENOMEM */
void task_model__free(struct task_model *m);

/*
 * Apply a record that record__valid() accepted. FORK of a process copies maps, namespaces and comm;
 * FORK of a thread adds it. COMM of an exec drops the maps and the other threads. MMAP2 overlays
 * maps. EXIT of the last thread drops the maps; names are kept for two more seconds, because a task
 * is still sampled after its EXIT. KSYMBOL, BPF_EVENT and CGROUP add or remove. Other types are
 * ignored, and so are records from before their process was read from /proc. 0, -ENOMEM, -E2BIG
 * (too many maps in one process).
 */
int task_model__apply(struct task_model *m, const struct perf_event_header *rec);

/* Get the process that a record changes (of a FORK, the child). False: it changes no process. */
bool task_model__subject(const struct perf_event_header *rec, uint32_t *ret_pid);
/* Does the record create a process? Sets *ret_parent if so. */
bool task_model__is_birth(const struct perf_event_header *rec, uint32_t *ret_parent);

/* Add a process read from /proc; one with the same pid is replaced. @time: ns, before the read. 0
 * or -ENOMEM. */
int task_model__add_process(struct task_model *m, uint32_t pid, uint64_t time);
/* The next three create the process if needed. 0, -ENOMEM; for maps see map_list__overlay(). */
int task_model__set_comm(struct task_model *m, uint32_t pid, uint32_t tid, const char *comm,
			 size_t len);
struct task_map {
	uint64_t start, len, pgoff;
	uint32_t prot, flags; /* as in mmap(2) */
	struct map_file_id file;
	const char *name;
	size_t name_len;
};
int task_model__add_map(struct task_model *m, uint32_t pid, const struct task_map *map);
/* @dev_ino: {device, inode} of net, uts, ipc, pid, user, mnt, cgroup: the kernel's order. */
int task_model__set_namespaces(struct task_model *m, uint32_t pid, const uint64_t (*dev_ino)[2],
			       size_t n);
/* Note that a thread exited at @time (ns), like an EXIT record. 0 or -ENOMEM. */
int task_model__exit(struct task_model *m, uint32_t pid, uint32_t tid, uint64_t time);
/* Drop the names of exited tasks at once, to save memory. */
void task_model__forget_exited(struct task_model *m);
void task_model__remove_process(struct task_model *m, uint32_t pid);

/* State that belongs to no process. */
const struct kernel_state *task_model__kernel(const struct task_model *m);
struct kernel_state *task_model__edit_kernel(struct task_model *m);

/* Copy a process, if it exists, from another model, replacing the one here. 0 or -ENOMEM. */
int task_model__copy_process(struct task_model *to, const struct task_model *from, uint32_t pid);

size_t task_model__bytes(const struct task_model *m);
size_t task_model__n_processes(const struct task_model *m);
size_t task_model__n_threads(const struct task_model *m, uint32_t pid);
/* Get the time (ns) when the process was read from /proc or forked. False: there is none. */
bool task_model__since(const struct task_model *m, uint32_t pid, uint64_t *ret_time);

/* Call @fn until it returns non-zero, which is returned. @fn must not change the model. */
int task_model__each_process(const struct task_model *m, int (*fn)(uint32_t pid, void *arg),
			     void *arg);
int task_model__each_map(const struct task_model *m, uint32_t pid,
			 int (*fn)(uint32_t pid, const struct map *map, void *arg), void *arg);
/* Find the map of a process that contains @addr. NULL: none. Valid until the model changes. */
const struct map *task_model__find_map(const struct task_model *m, uint32_t pid, uint64_t addr);
/* The comm of a thread. NULL: unknown. Valid until the model changes. */
const char *task_model__comm(const struct task_model *m, uint32_t pid, uint32_t tid);
/*
 * Append COMM, NAMESPACES and MMAP2 records of a process. COMM is of the leader and of threads
 * tids[] (ascending; NULL: all). @time: ns, of all records; 0: the caller sets times later. 0, also
 * if there is no such process, or -ENOMEM.
 */
int task_model__emit_process(const struct task_model *m, uint32_t pid, const uint32_t *tids,
			     size_t n_tids, uint64_t time, struct buf *out);

/*
 * Append the records that turn a process of @is into the same process of @should, with the time at
 * which @should read the process. There are none if both agree. Otherwise they are COMM of an exec,
 * COMM of the other threads, and all maps. If @should lacks the process: EXIT at @gone (ns). 0 or
 * -ENOMEM.
 */
int task_model__emit_repair(const struct task_model *is, const struct task_model *should,
			    uint32_t pid, uint64_t gone, struct buf *out);

#endif
