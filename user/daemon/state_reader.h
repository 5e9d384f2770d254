/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread that reads who the subjects of triggers are, see task_state.h: as soon as the trigger thread wakes it, and nobody
 * waits for it. A read that hangs hangs this thread alone: later subjects have no state then. Life: start, wake, settle, free.
 */
#ifndef FRBPF_DAEMON_STATE_READER_H
#define FRBPF_DAEMON_STATE_READER_H

#include <pthread.h>

#include "daemon/incident_pool.h"

struct state_reader;

/* @lock guards @pool; @progress is an eventfd, notified when a state comes after its manifest. All are borrowed. */
int state_reader__start(pthread_mutex_t *lock, struct incident_pool *pool, int progress,
			struct err *err, struct state_reader **ret);

/* The pool wants states. For the trigger thread: does not block. */
void state_reader__wake(struct state_reader *s);

/* Wait until those that are wanted now were read, at most until @deadline, ns. */
void state_reader__settle(struct state_reader *s, uint64_t deadline);

/* Ends the thread; a read that hangs is left behind. NULL is legal. */
void state_reader__free(struct state_reader *s);

#endif
