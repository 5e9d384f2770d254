/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What names addresses: mmap2, comm, fork, exit, ksymbol, bpf_event (cgroup, namespaces) of the
 * whole machine, kept from before /proc was read once until now. Life: open (rings record), scan
 * (/proc becomes the base state), start (a thread drains the rings into the log), slice per dump,
 * stop, free.
 *
 * State at any time = base state (a task model) + log of raw records younger than the base. When
 * the log outgrows its bound, or reaches further back than anybody needs (follow), its oldest records
 * are folded into the base.
 */
#ifndef FRBPF_SIDEBAND_SIDEBAND_H
#define FRBPF_SIDEBAND_SIDEBAND_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/err.h"
#include "perfdata/build_id.h"

struct sideband;

/* Memory that its rings take on @n_cpus, bytes. */
uint64_t sideband__rings_memory(size_t n_cpus);
struct examiner;

struct sideband_opts {
	struct examiner
		*examiner; /* borrowed: looks for build ids that the kernel does not tell; or
				    * NULL */
	size_t ring_bytes; /* per CPU, power of two; 0: 2 MiB */
	size_t memory; /* bound of log and base in bytes; 0: 64 MiB. The log shrinks for it, down to
			* one chunk; the state of living processes does not */
	uint64_t follow_interval; /* ns between two questions to what is followed; 0: 5 s */
	int rt_priority;	  /* SCHED_FIFO priority of the thread; refused or 0: nice -20 */
	bool all;		  /* slices tell of every task, not only of those asked for */
};

int sideband__open(const struct sideband_opts *opts, struct err *err, struct sideband **ret);
/* Read /proc: processes, threads, maps, kernel map, loaded BPF programs, cgroups. */
int sideband__scan(struct sideband *sb, struct err *err);
int sideband__start(struct sideband *sb, struct err *err);
void sideband__free(struct sideband *sb); /* stops the thread */

/* Ask @fn now and then (in the draining thread, which is awake anyway, and without a lock of the side
 * band's) from when on records are still needed (ns; 0: nobody can tell): older ones are folded. NULL:
 * only the memory bounds the log. When it returns, what was followed before is asked no more. */
void sideband__follow(struct sideband *sb, uint64_t (*fn)(void *arg), void *arg);

/* Open rings on those CPUs of @online that have come back or are new, see session__follow_cpus(). What
 * was not seen meanwhile is read from /proc. New rings may take @room bytes: -ENOSPC. Returns how many
 * CPUs it was, or negative errno with words. */
int sideband__follow_cpus(struct sideband *sb, const int *online, size_t n, uint64_t room,
			  struct err *err);
/* Is there a CPU on line whose events are gone, as nobody told that it went and came back? Interrupts
 * every CPU. For the tick. */
bool sideband__has_lost_cpu(struct sideband *sb);
/* Have @fn called about once a second by a thread that is awake anyway. Before sideband__start(). */
void sideband__on_tick(struct sideband *sb, void (*fn)(void *arg), void *arg);

/* The dummy event: one attr, one id per CPU. Borrowed. */
const struct perf_event_attr *sideband__attr(const struct sideband *sb);
const uint64_t *sideband__ids(const struct sideband *sb, size_t *ret_n);

struct sideband_task {
	uint32_t pid, tid;
};

/* A page of code that was hit. */
#define SIDEBAND_PAGE_SHIFT 12
#define SIDEBAND_KERNEL	    UINT32_MAX /* as pid: it is the kernel's */
struct sideband_page {
	uint32_t pid;
	uint64_t page; /* address >> SIDEBAND_PAGE_SHIFT */
};

/* By pid, then by page: for qsort() and bsearch(). */
static inline int sideband_page__compare(const void *a, const void *b)
{
	const struct sideband_page *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->page > y->page) - (x->page < y->page);
}

struct sideband_request {
	const struct sideband_task *tasks; /* sorted by pid, tid; unique */
	size_t n_tasks;
	const struct sideband_page *pages; /* sorted by pid, page; unique */
	size_t n_pages;
	bool all_files;	     /* build ids of all files that the tasks have mapped, not only of the
				pages' */
	uint64_t start, end; /* ns */
	uint32_t first_pid; /* the process to name first; 0: any. samply calls a profile after it */
};

/* What one dump needs. All of it is a copy that belongs to the slice. */
struct sideband_slice {
	struct buf records; /* back to back, in time order; base state first, at rising times in
			     * (start - n, start), then the log up to end with its own times */
	size_t n_records;
	struct {
		struct build_id id;
		bool kernel;
		char *name;
	} * build_ids; /* of the kernel and of every file whose pages were hit */
	size_t n_build_ids;
	struct buf *bpf_progs; /* bodies for BPF_PROG_INFO, see perfdata_blob */
	size_t n_bpf_progs;
	struct {
		uint32_t id;
		struct buf data;
	} * btfs;
	size_t n_btfs;
	uint64_t lost;	  /* records that the rings lost since start */
	uint64_t rescans; /* how often /proc was read again because of a loss or the memory bound */
	bool incomplete;  /* the window begins before what the log can prove: see rescans */
};

/* Drain the rings, then copy what the request's tasks need from its start to its end. Processes not
 * asked for are left out. Called from any thread. -ENOMEM or errno of reading. */
int sideband__slice(struct sideband *sb, const struct sideband_request *req, struct err *err,
		    struct sideband_slice **ret);
void sideband_slice__free(struct sideband_slice *s);

struct sideband_stats {
	uint64_t records, bytes; /* drained since start */
	uint64_t lost, rescans, folded;
	uint64_t needed_from; /* ns: what was followed needs nothing older; 0: not known */
	size_t log_bytes, model_bytes;
	size_t ring_bytes; /* of all CPUs */
	pid_t tid;	   /* of the draining thread */
	bool realtime;	   /* SCHED_FIFO was granted */
};
void sideband__stats(struct sideband *sb, struct sideband_stats *ret);

/* What the rings take for each CPU where sideband_opts say nothing else. */
#define SIDEBAND_RING_BYTES ((size_t)2 << 20)

#endif
