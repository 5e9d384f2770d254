/* SPDX-License-Identifier: GPL-2.0-only */
/* Scheduling of frbpf's own threads. */
#ifndef FRBPF_COMMON_REALTIME_H
#define FRBPF_COMMON_REALTIME_H

#include <pthread.h>
#include <stdbool.h>

/* How the calling thread runs. */
enum thread_class {
	THREAD_NORMAL,
	THREAD_BACKGROUND, /* SCHED_BATCH, nice 10: writing files */
	THREAD_REALTIME,   /* SCHED_FIFO at the priority given, else nice -20 */
};

/* Give the calling thread @class. Returns whether SCHED_FIFO was granted (THREAD_REALTIME only); it
 * can be refused even to root (RT_GROUP_SCHED in a container), then the thread gets nice -20. */
bool thread__set_class(enum thread_class class, int priority);

/*
 * Init @lock so that it inherits priority: a real-time thread that waits for it never waits for its
 * holder to get a time slice. 0 or negative errno.
 */
int thread__init_lock(pthread_mutex_t *lock);

#endif
