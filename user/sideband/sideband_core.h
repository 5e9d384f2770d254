/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of the side band: the state that its threads share, and what all of them do to it. Private
 * to sideband*.c. */
#ifndef FRBPF_SIDEBAND_SIDEBAND_CORE_H
#define FRBPF_SIDEBAND_SIDEBAND_CORE_H

#include <pthread.h>
#include <sys/epoll.h>

#include "perfdata/record.h"
#include "sideband/bpf_info.h"
#include "sideband/kernel_maps.h"
#include "sideband/kernel_modules.h"
#include "sideband/map_build_id.h"
#include "sideband/sideband.h"
#include "sideband/sideband_log.h"
#include "sideband/sideband_ring.h"
#include "symbols/task_model.h"

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
	uint64_t *ids; /* of the first rings */
	size_t n_ids, max_cpus;
	int epoll_fd;
	int stop_fd;			 /* eventfd: the drainer ends */
	struct map_build_ids *build_ids; /* locks itself */

	/* constant after scan */
	struct kernel_maps kernel;
	bool scanned;

	pthread_mutex_t lock;	       /* all below; inherits priority */
	struct sideband_ring *rings;   /* room for max_cpus each; the numbers only grow */
	struct sideband_ring *watches; /* wake at once when a BPF program is loaded */
	int *pulses;		       /* of the rings, see common/cpu_pulse.h; owned */
	uint64_t *beats;	       /* of the pulses, as they were seen last; owned */
	size_t n_rings, n_watches;
	pthread_cond_t unpinned, helper_wake, started;
	struct task_model *base;
	struct sideband_log *log;
	struct bpf_store *bpf;
	struct buf late; /* records older than the base that came while it was pinned */
	unsigned int pins;
	bool fold_due;	      /* memory is short: no new pins */
	bool lost_any;	      /* since /proc was read: a window may miss something */
	bool trim_due;	      /* maps that nobody has any more fill the memory */
	uint64_t fold_before; /* ns: nobody needs what is older */
	bool stopping;
	uint64_t complete_from; /* ns: windows from here on miss nothing */
	uint64_t repaired;	/* ns: when /proc was last read */
	size_t scanned_bytes;	/* of the model, when /proc was last read */
	struct bpf_wanted {
		uint32_t id;
		int fd; /* keeps the program until it was asked; -1: it is gone already */
	} * bpf_wanted; /* programs to ask for; owned */
	size_t n_bpf_wanted, cap_bpf_wanted;
	struct unidentified { /* a file whose build id nobody has read, and where it is mapped */
		uint32_t pid;
		uint64_t start, end;
		struct map_file_id id;
		char *name; /* owned */
	} * unidentified;   /* owned */
	size_t n_unidentified, cap_unidentified;
	uint64_t asked_files[1024]; /* hashes of files that were put there lately */
	bool identify_due;	    /* files of the base whose build ids nobody has read */
	struct kernel_modules modules;
	size_t scanned_cgroups;
	struct sideband_stats stats;

	pthread_mutex_t follow_lock; /* the two below; inherits priority */
	uint64_t (*needed_from)(void *arg);
	void *needed_arg;
	uint64_t followed;	 /* ns: when it was asked last; the drainer's */
	void (*tick)(void *arg); /* constant after start */
	void *tick_arg;
	uint64_t ticked; /* ns; the drainer's */

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
/* Something was not seen, @n records of it counted: /proc is read again. Under the lock. */
void sideband_core__lost(struct sideband *sb, uint64_t n);
/* Put one record into the log, or into the base when it is older. Under the lock. */
void sideband_core__log(struct sideband *sb, const struct perf_event_header *rec);
/* Fold what is too much. Under the lock. */
void sideband_core__settle(struct sideband *sb);

/* Learn what nobody needs any more, when it is time to ask. The drainer's; not under the lock. */
void sideband_core__follow(struct sideband *sb);
/* Is there a part of the log that nobody needs, and may it be folded now? Under the lock ... */
bool sideband_core__outlived(const struct sideband *sb);
/* ... then fold one, of a few hundred KiB. */
void sideband_core__fold_oldest(struct sideband *sb);

/* Base and log stand still from pin to unpin. -ENOMEM. */
int sideband_core__pin(struct sideband *sb, struct sideband_log_view *ret);
void sideband_core__unpin(struct sideband *sb, struct sideband_log_view *view);

/* Read the build ids of the base's files that the kernel did not tell, while somebody maps them. */
void sideband_core__identify(struct sideband *sb);
/* The same for one file that was mapped just now, whose id the kernel did not tell: remember it (under the lock) ... */
void sideband_core__want_file(struct sideband *sb, const struct record_mmap2 *r);
/* ... and read what was remembered (not under the lock). */
void sideband_core__identify_wanted(struct sideband *sb);

/* Rings and watches of these CPUs, at the start. */
int sideband_core__open_rings(struct sideband *sb, struct err *err);
void sideband_core__close_rings(struct sideband *sb);
/* What epoll tells of them; *ret_drain: there is something to drain. */
void sideband_core__on_ring(struct sideband *sb, const struct epoll_event *ev, bool *ret_drain);

/* Look which BPF programs have been loaded, and ask for them before they are gone. */
void sideband_core__watch(struct sideband *sb);
/* Ask the kernel for a program and keep the answer, if there is one and room for it. Not under the
 * lock. */
void sideband_core__fetch_bpf(struct sideband *sb, uint32_t id);

#endif
