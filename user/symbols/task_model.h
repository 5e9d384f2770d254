/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What names addresses, as of one moment: per process the comm of its threads, its executable maps
 * and its namespaces; for all, the kernel's state. Filled from /proc (add_process ... )
 * and from records (apply); written out as records again (emit). Not locked; many may read while
 * nobody writes.
 */
#ifndef FRBPF_SYMBOLS_TASK_MODEL_H
#define FRBPF_SYMBOLS_TASK_MODEL_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "symbols/kernel_state.h"
#include "symbols/map_list.h"
#include "symbols/thread_list.h"

struct task_model;

int task_model__new(struct task_model **ret); /* -ENOMEM */
void task_model__free(struct task_model *m);

/*
 * Apply one record that record__valid() accepted: FORK to a new process copies maps, namespaces and
 * comm, FORK to a new thread adds one, COMM of an exec drops maps and other threads, MMAP2
 * overlays, EXIT of the last thread drops the maps; names of who exited are kept for two seconds
 * more, because a task is still sampled after its EXIT. KSYMBOL, BPF_EVENT and CGROUP add or remove.
 * Other types are ignored, and so is a record older than the moment its process was read from /proc. 0,
 * -ENOMEM, -E2BIG (too many maps in one process).
 */
int task_model__apply(struct task_model *m, const struct perf_event_header *rec);

/* The process that a record changes (the child of a FORK). False: it is of no process. */
bool task_model__subject(const struct perf_event_header *rec, uint32_t *ret_pid);
/* Does the record make a new process? Then of which parent? */
bool task_model__is_birth(const struct perf_event_header *rec, uint32_t *ret_parent);

/* A process read from /proc at @time (ns; taken before reading): one of that pid is replaced. 0 or
 * -ENOMEM. */
int task_model__add_process(struct task_model *m, uint32_t pid, uint64_t time);
/* The next ones make the process when it is not there. 0, -ENOMEM; for maps see
 * map_list__overlay(). */
int task_model__set_comm(struct task_model *m, uint32_t pid, uint32_t tid, const char *comm,
			 size_t len);
struct task_map {
	uint64_t start, len, pgoff;
	uint32_t prot, flags; /* as mmap(2) takes them */
	struct map_file_id file;
	const char *name;
	size_t name_len;
};
int task_model__add_map(struct task_model *m, uint32_t pid, const struct task_map *map);
/* net uts ipc pid user mnt cgroup, each {device, inode}: the kernel's order. */
int task_model__set_namespaces(struct task_model *m, uint32_t pid, const uint64_t (*dev_ino)[2],
			       size_t n);
/* A thread has exited at @time (ns): see apply. */
int task_model__exit(struct task_model *m, uint32_t pid, uint32_t tid, uint64_t time);
/* Forget the names of who exited at once: memory is short. */
void task_model__forget_exited(struct task_model *m);
void task_model__remove_process(struct task_model *m, uint32_t pid);

/* What belongs to no process. */
const struct kernel_state *task_model__kernel(const struct task_model *m);
struct kernel_state *task_model__edit_kernel(struct task_model *m);

/* Copy one process (when there is one) from another model. 0 or -ENOMEM. */
int task_model__copy_process(struct task_model *to, const struct task_model *from, uint32_t pid);

size_t task_model__bytes(const struct task_model *m);
size_t task_model__n_processes(const struct task_model *m);
size_t task_model__n_threads(const struct task_model *m, uint32_t pid);
/* When the process was read from /proc or forked (ns). False: there is none. */
bool task_model__since(const struct task_model *m, uint32_t pid, uint64_t *ret_time);

/* Until @fn returns non-zero, which is returned. @fn must not change the model. */
int task_model__each_process(const struct task_model *m, int (*fn)(uint32_t pid, void *arg),
			     void *arg);
int task_model__each_map(const struct task_model *m, uint32_t pid,
			 int (*fn)(uint32_t pid, const struct map *map, void *arg), void *arg);
/* The map of a process that has @addr. NULL: none. Valid until the model changes. */
const struct map *task_model__find_map(const struct task_model *m, uint32_t pid, uint64_t addr);
/* The comm of a thread. NULL: not known. Valid until the model changes. */
const char *task_model__comm(const struct task_model *m, uint32_t pid, uint32_t tid);
/* Append records, all at @time: COMM of the leader and of the threads tids[] (ascending; NULL: of
 * all), NAMESPACES, MMAP2 of one process. @time 0 is legal: the caller sets times later. 0 (also
 * when there is no such process) or -ENOMEM. */
int task_model__emit_process(const struct task_model *m, uint32_t pid, const uint32_t *tids,
			     size_t n_tids, uint64_t time, struct buf *out);

/*
 * Append what turns the process as @is believes it into the one that @should has, at the time when
 * it was read: nothing when they agree; an exec's COMM, the other threads' COMM and all maps when
 * not; EXIT at @gone when @should does not have it.
 */
int task_model__emit_repair(const struct task_model *is, const struct task_model *should,
			    uint32_t pid, uint64_t gone, struct buf *out);

#endif
