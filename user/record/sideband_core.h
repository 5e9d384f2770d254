/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of the side band: the state that its threads share, and what all of them do to it. Private
 * to sideband*.c. */
#ifndef FRBPF_RECORD_SIDEBAND_CORE_H
#define FRBPF_RECORD_SIDEBAND_CORE_H

#include <pthread.h>

#include "record/bpf_info.h"
#include "record/kernel_maps.h"
#include "record/map_build_id.h"
#include "record/sideband.h"
#include "record/sideband_log.h"
#include "record/sideband_ring.h"
#include "record/task_model.h"

/*
 * Threads: the drainer (real time) empties rings and folds; the helper (normal) does what may take
 * long: it reads /proc again and asks for BPF programs; slices run in their caller's thread.
 *
 * Base and log are written under the lock. A slice reads them without it, while it holds a pin:
 * then records are still appended, but nothing is folded.
 */
struct sideband {
	/* constant after open */
	struct sideband_opts opts;
	struct perf_event_attr attr;
	struct sideband_ring *rings;
	uint64_t *ids;
	size_t n_rings;
	int epoll_fd;
	int stop_fd;			 /* eventfd: the drainer ends */
	struct map_build_ids *build_ids; /* locks itself */

	/* constant after scan */
	struct kernel_maps kernel;
	bool scanned;

	pthread_mutex_t lock; /* all below; inherits priority */
	pthread_cond_t unpinned, helper_wake, started;
	struct task_model *base;
	struct sideband_log *log;
	struct bpf_store *bpf;
	struct buf late; /* records older than the base that came while it was pinned */
	unsigned int pins;
	bool fold_due; /* memory is short: no new pins */
	bool lost_any; /* since /proc was read: a window may miss something */
	bool trim_due; /* maps that nobody has any more fill the memory */
	bool stopping;
	uint64_t complete_from; /* ns: windows from here on miss nothing */
	uint64_t repaired;	/* ns: when /proc was last read */
	size_t scanned_bytes;	/* of the model, when /proc was last read */
	uint32_t *bpf_wanted;	/* programs to ask for; owned */
	size_t n_bpf_wanted, cap_bpf_wanted;
	struct sideband_stats stats;

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

/* Empty all rings into the log, fold what is due. The lock is taken ring by ring: nobody waits for
 * more than one. */
void sideband_core__drain(struct sideband *sb);
/* Put one record into the log, or into the base when it is older. Under the lock. */
void sideband_core__log(struct sideband *sb, const struct perf_event_header *rec);
/* Fold what is too old or too much. Under the lock. */
void sideband_core__settle(struct sideband *sb);

/* Base and log stand still from pin to unpin. -ENOMEM. */
int sideband_core__pin(struct sideband *sb, struct sideband_log_view *ret);
void sideband_core__unpin(struct sideband *sb, struct sideband_log_view *view);

/* Ask the kernel for a program and keep the answer, if there is one and room for it. Not under the
 * lock. */
void sideband_core__fetch_bpf(struct sideband *sb, uint32_t id);

#endif
