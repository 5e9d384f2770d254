/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that reads the state of the subjects of triggers, see task_state.h, as soon as the
 * trigger thread wakes it. Nobody waits for it. An examiner reads memory of the subjects, which may
 * be mapped from a file system that hangs. Life: start, wake, wait, free.
 */
#ifndef FRBPF_DAEMON_STATE_READER_H
#define FRBPF_DAEMON_STATE_READER_H

#include <pthread.h>

#include "daemon/incident_pool.h"
#include "examine/examiner.h"

struct state_reader;

/*
 * Start the thread. @lock guards @pool. @examiner may be NULL. The eventfd @progress is notified
 * when a state comes after the manifest. All are borrowed. 0 or negative errno with a message in
 * @err.
 */
int state_reader__start(struct examiner *examiner, pthread_mutex_t *lock,
			struct incident_pool *pool, int progress, struct err *err,
			struct state_reader **ret);

/* Tell the thread that the pool has subjects to read. For the trigger thread: does not block. */
void state_reader__wake(struct state_reader *s);

/* Wait until the states wanted now are read, at most until @deadline, ns. */
void state_reader__wait(struct state_reader *s, uint64_t deadline);

/*
 * Ends the thread. If a read hangs for a second, the thread is left to end by itself. NULL is
 * legal.
 */
void state_reader__free(struct state_reader *s);

#endif
