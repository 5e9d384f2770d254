/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Internals of the side band: the state that its threads share, and the operations on it. Private
 * to sideband*.c.
 */
#ifndef FRBPF_SIDEBAND_SIDEBAND_CORE_H
#define FRBPF_SIDEBAND_SIDEBAND_CORE_H

#include <pthread.h>
#include <sys/epoll.h>

#include "perfdata/record.h"
#include "sideband/bpf_info.h"
#include "sideband/kernel_code.h"
#include "sideband/map_build_id.h"
#include "sideband/sideband.h"
#include "sideband/sideband_log.h"
#include "sideband/sideband_ring.h"
#include "symbols/task_model.h"

/*
 * Threads: the drainer (real time) empties the rings, and folds records when memory is short. The
 * helper (normal priority) does what may take long: it folds records no longer needed, rereads
 * /proc, and reads BPF programs and build ids. Slices run in their caller's thread.
 *
 * Base and log are written under the lock. A slice pins them and reads without the lock: meanwhile
 * records are still appended, but nothing is folded.
 */
struct sideband {
	/* constant after open */
	struct sideband_opts opts;
	struct perf_event_attr attr;
	uint64_t *ids; /* of the first rings */
	size_t n_ids, max_cpus;
	int epoll_fd;
	int stop_fd;			 /* eventfd: tells the drainer to end */
	struct map_build_ids *build_ids; /* locks itself */

	/* constant after scan */
	struct kernel_maps kernel;
	bool scanned;

	pthread_mutex_t lock;	       /* protects everything below; inherits priority */
	struct sideband_ring *rings;   /* room for max_cpus each; their numbers only grow */
	struct sideband_ring *watches; /* rings that wake as soon as a BPF program is loaded */
	int *pulses;		       /* one per ring, see common/cpus.h; owned */
	uint64_t *beats;	       /* last value of each pulse; owned */
	size_t n_rings, n_watches;
	pthread_cond_t unpinned, helper_wake, started, reread;
	struct task_model *base;
	struct sideband_log *log;
	struct bpf_store *bpf;
	struct buf late; /* records older than the base that arrived while it was pinned */
	unsigned int pins;
	bool fold_due;	      /* memory is short: no new pins */
	bool lost_any;	      /* records were lost since /proc was read: windows may lack them */
	bool trim_due;	      /* stale maps or cgroups fill the memory: reread /proc */
	uint64_t fold_before; /* ns: older records are not needed */
	bool stopping;
	bool read_data;		/* /proc was read with the maps of data */
	uint64_t complete_from; /* ns: windows that begin later are complete */
	uint64_t repaired;	/* ns: when /proc was last read */
	size_t scanned_bytes;	/* size of the model when /proc was last read */
	struct bpf_wanted {
		uint32_t id;
		int fd; /* keeps the program loaded until it is read; -1: gone already */
	} * bpf_wanted; /* programs to read; owned */
	size_t n_bpf_wanted, cap_bpf_wanted;
	struct unidentified { /* a file whose build id is to be read, and where it is mapped */
		uint32_t pid;
		uint64_t start, end;
		struct map_file_id id;
		char *name; /* owned */
	} * unidentified;   /* owned */
	size_t n_unidentified, cap_unidentified;
	uint64_t asked_files[1024]; /* hashes of files added to unidentified lately */
	bool identify_due;	    /* the base has files whose build ids were not read */
	struct kernel_modules modules;
	size_t scanned_cgroups;
	struct sideband_stats stats;

	pthread_mutex_t follow_lock; /* protects the two below; inherits priority */
	uint64_t (*needed_from)(void *arg);
	void *needed_arg;
	uint64_t followed;	 /* ns: time of the last call; used by the drainer only */
	void (*tick)(void *arg); /* constant after start */
	void *tick_arg;
	uint64_t ticked; /* ns: time of the last tick; used by the drainer only */

	pthread_t drainer, helper;
	bool running;
};

static inline void sideband__lock(struct sideband *sb)
{
	pthread_mutex_lock(&sb->lock);
}

static inline void sideband__unlock(struct sideband *sb)
{
	pthread_mutex_unlock(&sb->lock);
}

/*
 * Drain all rings into the log, then fold what is due. Takes the lock for each ring anew, so that
 * others wait for one ring at most.
 */
void sideband_core__drain(struct sideband *sb);
/* Note that records were lost, @n of them counted: the helper rereads /proc. Under the lock. */
void sideband_core__lost(struct sideband *sb, uint64_t n);
/* Put a record into the log, or into the base if it is older than the log. Under the lock. */
void sideband_core__log(struct sideband *sb, const struct perf_event_header *rec);
/* Fold records until the memory limit holds. Under the lock. */
void sideband_core__fold_to_limit(struct sideband *sb);

/* Update fold_before, once per follow_interval. For the drainer; not under the lock. */
void sideband_core__follow(struct sideband *sb);
/* Is the oldest chunk of the log no longer needed, and may it be folded now? Under the lock. */
bool sideband_core__may_fold_oldest(const struct sideband *sb);
/* Fold the oldest chunk, at most a few hundred KiB. Under the lock. */
void sideband_core__fold_oldest(struct sideband *sb);

/* Nothing is folded between pin and unpin: base and *ret can be read without the lock. -ENOMEM. */
int sideband_core__pin(struct sideband *sb, struct sideband_log_view *ret);
void sideband_core__unpin(struct sideband *sb, struct sideband_log_view *view);

/*
 * Read the state that belongs to no process. @text: gets the kernel's text; NULL: it is already
 * known.
 */
int sideband_core__scan_kernel(struct sideband *sb, struct kernel_state *k,
			       struct kernel_maps *text);
/*
 * After losses: reread /proc, and log what differs from base and log. @data: also maps that are not
 * executable.
 */
int sideband_core__repair(struct sideband *sb, bool data);
/* Time (ns) until the next repair may begin; UINT64_MAX: none is needed. Under the lock. */
uint64_t sideband_core__repair_delay(const struct sideband *sb);

/* Read the missing build ids of files of the base, while the files are mapped. */
void sideband_core__identify(struct sideband *sb);
/* Note a newly mapped file if its build id is unknown. Under the lock. */
void sideband_core__want_file(struct sideband *sb, const struct record_mmap2 *r);
/* Read the build ids of the files that were noted. Not under the lock. */
void sideband_core__identify_wanted(struct sideband *sb);

/* Open rings and watches on all CPUs that are online. */
int sideband_core__open_rings(struct sideband *sb, struct err *err);
/*
 * Open all rings anew, with maps of data. Records of the time in between are lost. Under the lock.
 */
int sideband_core__reopen_with_data(struct sideband *sb, struct err *err);
void sideband_core__close_rings(struct sideband *sb);
/* Handle an epoll event of a ring or watch. Sets *ret_drain if the rings are to be drained. */
void sideband_core__on_ring(struct sideband *sb, const struct epoll_event *ev, bool *ret_drain);

/* Drain the watches: programs that were just loaded are pinned, so that they can still be read. */
void sideband_core__watch(struct sideband *sb);
/* Read a BPF program into the store, unless it is gone or the store is full. Not under the lock. */
void sideband_core__fetch_bpf(struct sideband *sb, uint32_t id);

#endif
