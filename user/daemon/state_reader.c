// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/event_fd.h"
#include "daemon/state_reader.h"
#include "dump/state/task_state.h"
#include "rules/units.h"

#define END_WAIT   NSEC_PER_SEC	       /* ns to wait for a read at the end */
#define REST_AFTER (10 * NSEC_PER_SEC) /* ns without a trigger */

struct state_reader {
	pthread_t thread;
	struct examiner *examiner; /* NULL: memory of tasks is not read */
	struct cgroup_roots roots; /* used by the thread */
	sem_t wake;
	pthread_mutex_t lock; /* guards what follows; before pool_lock */
	pthread_cond_t passed;
	pthread_mutex_t *pool_lock;
	struct incident_pool *pool;
	int progress;
	uint64_t asked, done; /* number of passes over the pool: requested; completed */
	bool stop, ended;
	bool left; /* state_reader__free() gave up waiting: the thread frees this when it ends */
};

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };
}

static bool state_reader__next(struct state_reader *s, struct state_ask *ret)
{
	bool found = false;

	pthread_mutex_lock(&s->lock);
	if (!s->stop) {
		pthread_mutex_lock(s->pool_lock);
		found = incident_pool__next_state(s->pool, ret);
		pthread_mutex_unlock(s->pool_lock);
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

static void state_reader__give(struct state_reader *s, const struct state_ask *ask, json_t *state,
			       json_t *more)
{
	pthread_mutex_lock(&s->lock);
	if (s->stop) {
		json_decref(state);
		json_decref(more);
	} else {
		bool late;

		pthread_mutex_lock(s->pool_lock);
		late = incident_pool__take_state(s->pool, ask, state, more);
		pthread_mutex_unlock(s->pool_lock);
		if (late)
			event_fd__notify(s->progress);
	}
	pthread_mutex_unlock(&s->lock);
}

static void read_subject_state(struct state_reader *s, const struct state_ask *ask)
{
	json_t *state = NULL, *more = NULL;

	if (task_state__read(&s->roots, ask->tid, ask->time, &state))
		return;
	state_reader__give(s, ask, state, NULL);
	if (!task_state__more(s->examiner, ask->tid, ask->time, ask->pending, &more))
		state_reader__give(s, ask, NULL, more);
}

static void state_reader__destroy(struct state_reader *s)
{
	cgroup_roots__close(&s->roots);
	sem_destroy(&s->wake);
	pthread_cond_destroy(&s->passed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Wait for the next trigger. After a while without one, the processes that look into tasks end. */
static void state_reader__await(struct state_reader *s)
{
	const struct timespec until = timespec_of(now_ns() + REST_AFTER);
	int err;

	do
		err = sem_clockwait(&s->wake, CLOCK_MONOTONIC, &until) ? errno : 0;
	while (err == EINTR);
	if (!err)
		return;
	if (s->examiner)
		examiner__rest(s->examiner, EXAMINER_TASKS);
	while (sem_wait(&s->wake) < 0)
		;
}

static void *state_reader_thread(void *arg)
{
	struct state_reader *s = arg;
	struct state_ask ask;
	uint64_t pass;
	bool stop, left;

	pthread_setname_np(pthread_self(), "frbpf-state");
	do {
		state_reader__await(s);
		pthread_mutex_lock(&s->lock);
		pass = s->asked;
		pthread_mutex_unlock(&s->lock);
		while (state_reader__next(s, &ask))
			read_subject_state(s, &ask);
		pthread_mutex_lock(&s->lock);
		s->done = pass;
		stop = s->stop;
		s->ended = stop;
		left = s->left;
		pthread_cond_broadcast(&s->passed);
		pthread_mutex_unlock(&s->lock);
	} while (!stop);
	if (left)
		state_reader__destroy(s);
	return NULL;
}

int state_reader__start(struct examiner *examiner, pthread_mutex_t *lock,
			struct incident_pool *pool, int progress, struct err *err,
			struct state_reader **ret)
{
	struct state_reader *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;
	int code;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->examiner = examiner;
	s->pool_lock = lock;
	s->pool = pool;
	s->progress = progress;
	sem_init(&s->wake, 0, 0);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->passed, &attr);
	pthread_condattr_destroy(&attr);
	cgroup_roots__open(&s->roots);
	code = -pthread_create(&s->thread, NULL, state_reader_thread, s);
	if (code) {
		state_reader__destroy(s);
		return err_set(err, code, "cannot start a thread: %s", strerror(-code));
	}
	*ret = s;
	return 0;
}

void state_reader__wake(struct state_reader *s)
{
	sem_post(&s->wake);
}

void state_reader__wait(struct state_reader *s, uint64_t deadline)
{
	struct timespec until = timespec_of(deadline);
	uint64_t pass;
	int err = 0;

	pthread_mutex_lock(&s->lock);
	pass = ++s->asked;
	sem_post(&s->wake);
	while (s->done < pass && !err)
		err = pthread_cond_timedwait(&s->passed, &s->lock, &until);
	pthread_mutex_unlock(&s->lock);
}

void state_reader__free(struct state_reader *s)
{
	struct timespec until = timespec_of(now_ns() + END_WAIT);
	bool ended;
	int err = 0;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	sem_post(&s->wake);
	while (!s->ended && !err)
		err = pthread_cond_timedwait(&s->passed, &s->lock, &until);
	ended = s->ended;
	s->left = !ended;
	if (!ended)
		pthread_detach(s->thread);
	pthread_mutex_unlock(&s->lock);
	if (!ended)
		return;
	pthread_join(s->thread, NULL);
	state_reader__destroy(s);
}
