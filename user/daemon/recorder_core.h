/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the recorder share. Private to recorder.c, trigger_thread.c and
 * recorder_collect.c.
 */
#ifndef FRBPF_DAEMON_RECORDER_CORE_H
#define FRBPF_DAEMON_RECORDER_CORE_H

#include <semaphore.h>

#include "common/event_fd.h"
#include "daemon/active_set.h"
#include "daemon/incident_pool.h"
#include "daemon/namer.h"
#include "daemon/reaper.h"
#include "daemon/recorder.h"
#include "daemon/state_reader.h"
#include "dump/state/vitals.h"

struct recorder {
	struct detectors *detectors;
	struct reaper *reaper;
	struct namer *namer; /* NULL: functions of programs get no names */
	struct state_reader *states;
	struct vitals *vitals;
	int rt_priority;
	pthread_t thread;
	bool running;
	int epoll, timer;
	int wake;     /* eventfd that wakes the thread */
	int progress; /* eventfd that wakes the collecting thread */
	uint64_t copy_ns_per_mib;
	sem_t synced; /* posted by the thread at a point that others wait for */

	/*
	 * Guards everything below. Priority is inherited, so that the thread never waits for a
	 * dumper to get a time slice.
	 */
	pthread_mutex_t lock;
	bool stop, sync_wanted;
	struct active_set *active, *offered; /* references */
	struct incident_pool pool;
	struct recorder_stats stats;
	int n_writing; /* incidents and manifests that are being written */
	/* the callback of recorder__on_triggers(), and its last call */
	recorder_trigger_fn triggered;
	void *triggered_arg;
	bool fired;	      /* triggers have come since that call */
	uint64_t notified;    /* number of incidents that had begun before that call */
	uint64_t notified_at; /* ns */
	pthread_cond_t notified_more;
};

/*
 * Note that writing begins (@more 1) or ends (-1). Sources that our writing disturbs are suppressed
 * until shortly after the end. Under the lock.
 */
void recorder_core__count_writing(struct recorder *r, int more);
/*
 * Suppress triggers in the kernel while max-dumps is reached, so that they do not wake us. Under
 * the lock.
 */
void recorder_core__suppress_capped(struct recorder *r, const struct active_set *g, size_t rule);

/* The real-time thread: handles triggers and freezes incidents on time. @arg: the recorder. */
void *trigger_thread(void *arg);
/*
 * Callbacks: a file was written, in a dumper's thread; names were looked up, in the namer's thread;
 * stacks came, in the trigger thread.
 */
void recorder_core__on_dumped(void *arg, struct dumper *d, struct incident *inc, size_t index);
void recorder_core__on_named(struct incident *inc, void *arg);
void recorder_core__on_stacks(const struct frbpf_stacks *s, void *arg);

#endif
