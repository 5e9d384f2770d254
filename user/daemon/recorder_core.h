/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the recorder share. Private to recorder.c, trigger_thread.c and recorder_collect.c. */
#ifndef FRBPF_DAEMON_RECORDER_CORE_H
#define FRBPF_DAEMON_RECORDER_CORE_H

#include <semaphore.h>

#include "common/event_fd.h"
#include "daemon/incident_pool.h"
#include "daemon/namer.h"
#include "daemon/reaper.h"
#include "daemon/recorder.h"
#include "daemon/state_reader.h"
#include "dump/state/vitals.h"

struct recorder {
	struct detectors *detectors;
	struct reaper *reaper;
	struct namer *namer; /* NULL: nobody names functions */
	struct state_reader *states;
	struct vitals *vitals;
	int rt_priority;
	pthread_t thread;
	bool running;
	int epoll, timer;
	int wake;     /* eventfd for the thread */
	int progress; /* eventfd for the collector */
	uint64_t copy_ns_per_mib;
	sem_t synced; /* the thread has passed a point that another waits for */

	/* Guards everything below. Priority is inherited: the thread must not wait until a dumper
	 * gets a time slice. */
	pthread_mutex_t lock;
	bool stop, sync_wanted;
	struct active_set *gen, *offered; /* references */
	struct incident_pool pool;
	struct recorder_stats stats;
	int n_writing; /* incidents and manifests that are being written */
	/* What the triggers' listener was told of: see recorder__on_triggers(). */
	recorder_trigger_fn triggered;
	void *triggered_arg;
	bool fired;	  /* triggers were taken that it does not know of */
	uint64_t told;	  /* incidents that had begun then */
	uint64_t told_at; /* ns */
	pthread_cond_t told_more;
};

/* Writing begins (@more 1) or ends (-1). Meanwhile, and for a while after, sources that writing disturbs are suppressed as
 * our own. Under the lock. */
void recorder_core__count_writing(struct recorder *r, int more);
/* Once max-dumps is reached the kernel need not wake us for more. Under the lock. */
void recorder_core__suppress_capped(struct recorder *r, const struct active_set *g, size_t rule);

/* The real-time thread: takes triggers, freezes incidents at their time. @arg: the recorder. */
void *trigger_thread(void *arg);
/* Whoever waits for incidents that are written: in the thread of a dumper, and in that of the namer. */
void recorder_core__on_dumped(void *arg, struct dumper *d, struct incident *inc, size_t index);
void recorder_core__on_named(struct incident *inc, void *arg);
void recorder_core__on_stacks(const struct frbpf_stacks *s, void *arg);

#endif
