/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF programs that write events into the rings of a session: facts that no tracepoint reports, or
 * reports too often. For them a session has an event bpf-output on each CPU. Life: new, load each
 * kind that is wanted, send for each CPU, attach, send again when an event was replaced, free. Free
 * it before the session.
 */
#ifndef FRBPF_DETECT_FEED_H
#define FRBPF_DETECT_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/err.h"

enum feed_kind {
	FEED_LOCK_WAIT,	      /* struct frbpf_lock_wait */
	FEED_INTERRUPT,	      /* struct frbpf_interrupt */
	FEED_OFF_CPU,	      /* struct frbpf_off_cpu: of --off-cpu */
	FEED_OFF_CPU_SAMPLED, /* struct frbpf_off_cpu: of `run = evidence` */
	FEED_KINDS,
};

/* Which times off CPU are written, and which part of their callchains */
struct feed_off_cpu {
	uint64_t least_ns; /* shorter times are not written */
	bool sampled;	   /* FEED_OFF_CPU_SAMPLED, with kernel threads; @least_ns is not used */
	bool of_tasks;	   /* only of tasks that feed__mark() marks */
	bool inherits;	   /* with of_tasks: also of tasks that these start */
	const uint64_t *cgroups; /* ids: only of tasks in one of them, or below; borrowed */
	size_t n_cgroups;	 /* 0: any cgroup */
	bool no_kernel, no_user; /* leave out this part of the callchain */
};

struct feed;

int feed__new(struct feed **ret); /* 0 or -ENOMEM */

/*
 * Load the programs that write @kind, once. @event_type: common_type of their samples. Programs on
 * tracepoints that this kernel lacks are left out, see feed__lacking(). 0, or negative errno with a
 * message in @err; then nothing of @kind is written.
 */
int feed__load(struct feed *f, enum feed_kind kind, uint16_t event_type, struct err *err);
/* The same for FEED_OFF_CPU or FEED_OFF_CPU_SAMPLED, whose records have no common_type. */
int feed__load_off_cpu(struct feed *f, const struct feed_off_cpu *o, struct err *err);
/* Names of what is left out, separated by commas; "": none is missing. */
const char *feed__lacking(const struct feed *f);

/*
 * Write the events of @kind on @cpu into @fd, an event of that CPU. 0 or negative errno; 0 if @kind
 * is not loaded.
 */
int feed__send(struct feed *f, enum feed_kind kind, int cpu, int fd);

/* Begin to write all that is loaded. 0, or negative errno with a message in @err. */
int feed__attach(struct feed *f, struct err *err);

/*
 * Once FEED_OFF_CPU or FEED_OFF_CPU_SAMPLED is attached: mark the tasks that exist; with of_tasks,
 * only those with the numbers @tids. *ret_new: how many were not marked before. Tasks started
 * meanwhile may be missing: list the tasks and call again until it is 0. 0 or negative errno.
 */
int feed__mark(struct feed *f, const pid_t *tids, size_t n, size_t *ret_new);

/*
 * Tell the programs that a freeze begins at @time, ns; then, that no ring has changed since @time.
 * Sleeps that end after the first call may be missing in the copies of the rings: the programs keep
 * them until feed__asleep() takes them. Real-time threads may call this.
 */
void feed__freeze_begins(struct feed *f, uint64_t time);
void feed__frozen(struct feed *f, uint64_t time);

/*
 * Add a struct frbpf_asleep to @ret for each task that slept at @time, ns, if the copies of the
 * last freeze lack that sleep. Call it once after each freeze. Sleeps too short to be written are
 * left out; the programs of FEED_OFF_CPU_SAMPLED decide that if they are loaded, else those of
 * FEED_OFF_CPU. Adds at most about FEED_ASLEEP_BYTES. *ret_lost: sleeps for which there was no room
 * since the last call. One thread at a time. 0, also if neither is loaded, or negative errno.
 */
int feed__asleep(struct feed *f, uint64_t time, struct buf *ret, uint64_t *ret_lost);

#define FEED_ASLEEP_BYTES (8U << 20) /* about 20,000 tasks */

void feed__free(struct feed *f); /* NULL is legal */

#endif
