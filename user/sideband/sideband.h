/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records what names addresses on the whole machine: MMAP2, COMM, FORK, EXIT, KSYMBOL, BPF_EVENT,
 * CGROUP, NAMESPACES. Recording begins before the scan of /proc, so nothing is missed in between.
 * Life: open (the rings record), scan (/proc becomes the base state), start (a thread drains the
 * rings into the log), one slice per dump, free.
 *
 * The state at any time is the base state (a task model) plus the log, the raw records that are
 * younger than the base. The oldest records are folded into the base if the log outgrows its
 * limit, or reaches further back than needed (follow).
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

/* Memory of the rings on @n_cpus CPUs, in bytes. */
uint64_t sideband__rings_memory(size_t n_cpus);
struct examiner;

struct sideband_opts {
	struct examiner
		*examiner; /* borrowed: reads build ids that the kernel does not give; or NULL */
	size_t ring_bytes; /* per CPU, power of two; 0: 2 MiB */
	size_t memory; /* limit of log and base in bytes; 0: 64 MiB. To keep it, the log is reduced,
			* to one chunk at least, but never the state of living processes */
	uint64_t follow_interval; /* ns between two calls of the function given to follow; 0: 5 s */
	int rt_priority; /* SCHED_FIFO priority of the drainer; if 0 or refused: nice -20 */
	bool all;	 /* slices have every task, not only those requested */
};

/* Open the rings, which record from now on. 0 or negative errno with a message in @err. */
int sideband__open(const struct sideband_opts *opts, struct err *err, struct sideband **ret);
/*
 * Read the base state: processes, threads, maps, the kernel's map, loaded BPF programs, cgroups.
 * Errors as above.
 */
int sideband__scan(struct sideband *sb, struct err *err);
/* Start the threads that drain the rings and maintain the state. Errors as above. */
int sideband__start(struct sideband *sb, struct err *err);
void sideband__free(struct sideband *sb); /* stops the thread */

/*
 * Set the function that returns the time (ns; 0: unknown) from which records are needed. Older ones
 * are folded. The draining thread calls @fn now and then, without the lock of the side band. @fn
 * NULL: only memory limits the log. After the return the previous function is not called any more.
 */
void sideband__follow(struct sideband *sb, uint64_t (*fn)(void *arg), void *arg);

/*
 * From now on record maps that are not executable, too, and read those of living processes. Call it
 * after start; the first call opens the rings anew. 0 or negative errno with a message in @err.
 */
int sideband__record_data(struct sideband *sb, struct err *err);

/*
 * Open rings on those CPUs of @online that have come back or are new, see session__follow_cpus().
 * /proc is then read again for what was missed. Returns the number of these CPUs, or negative errno
 * with a message in @err. -ENOSPC: new rings need more than @room bytes.
 */
int sideband__follow_cpus(struct sideband *sb, const int *online, size_t n, uint64_t room,
			  struct err *err);
/*
 * Is a CPU online whose events are dead, because it went offline and came back unnoticed? This
 * interrupts every CPU, so call it only from the tick: sideband__on_tick().
 */
bool sideband__has_lost_cpu(struct sideband *sb);
/* Let the draining thread call @fn about once a second. Call this before sideband__start(). */
void sideband__on_tick(struct sideband *sb, void (*fn)(void *arg), void *arg);

/* The attributes of the dummy event, and its ids, one per CPU. Borrowed. */
const struct perf_event_attr *sideband__attr(const struct sideband *sb);
const uint64_t *sideband__ids(const struct sideband *sb, size_t *ret_n);

struct sideband_task {
	uint32_t pid, tid;
};

/* A page of code in which a sample was taken. */
#define SIDEBAND_PAGE_SHIFT 12
#define SIDEBAND_KERNEL	    UINT32_MAX /* as pid: a page of the kernel */
struct sideband_page {
	uint32_t pid;
	uint64_t page; /* address >> SIDEBAND_PAGE_SHIFT */
};

/* Orders by pid, then by page: for qsort() and bsearch(). */
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
	bool all_tasks;	     /* as if all tasks were listed */
	bool all_files;	     /* build ids of all mapped files, not only of those with hit pages */
	uint64_t start, end; /* ns */
	uint32_t first_pid;  /* process to write first; 0: any. samply names the profile after it */
};

/* What one dump needs. The slice owns copies of everything. */
struct sideband_slice {
	struct buf records; /* back to back, in time order: the base state, at rising times just
			     * before start, then the log up to end, with its own times */
	size_t n_records;
	struct {
		struct build_id id;
		bool kernel;
		char *name;
	} * build_ids; /* of the kernel and of every file with hit pages */
	size_t n_build_ids;
	struct buf *bpf_progs; /* bodies for BPF_PROG_INFO, see perfdata_blob */
	size_t n_bpf_progs;
	struct {
		uint32_t id;
		struct buf data;
	} * btfs;
	size_t n_btfs;
	uint64_t lost;	  /* records that the rings lost since start */
	uint64_t rescans; /* number of times /proc was read again: records lost, or memory short */
	bool incomplete;  /* records may be missing: lost, or the window begins too early */
};

/*
 * Drain the rings, then copy what the requested tasks need in the requested window. Other processes
 * are left out, unless opts.all is set. For any thread. -ENOMEM, or the errno of a read.
 */
int sideband__slice(struct sideband *sb, const struct sideband_request *req, struct err *err,
		    struct sideband_slice **ret);
/*
 * Move build ids and BPF programs that @s lacks from @from, for a file of several slices. 0 or
 * -ENOMEM.
 */
int sideband_slice__join(struct sideband_slice *s, struct sideband_slice *from);
void sideband_slice__free(struct sideband_slice *s);

struct sideband_stats {
	uint64_t records, bytes; /* drained since start */
	uint64_t lost, rescans, folded;
	uint64_t needed_from; /* ns: older records are not needed; 0: unknown */
	size_t log_bytes, model_bytes;
	size_t ring_bytes; /* of all CPUs */
	pid_t tid;	   /* of the draining thread */
	bool realtime;	   /* SCHED_FIFO was granted */
};
void sideband__stats(struct sideband *sb, struct sideband_stats *ret);

/* Default size of the ring of a CPU. */
#define SIDEBAND_RING_BYTES ((size_t)2 << 20)

#endif
