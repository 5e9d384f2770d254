// SPDX-License-Identifier: GPL-2.0-only
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "daemon/confine.h"
#include "daemon/incident_pool.h"
#include "daemon/namer.h"
#include "rules/units.h"

#define INCIDENT_WAIT (5 * NSEC_PER_SEC) /* ns, for the names of one incident */

struct namer {
	struct examiner *examiner;
	namer_done_fn done;
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t given;
	struct incident *waiting[INCIDENT_POOL_SIZE]; /* each at most once, in order of arrival */
	size_t n;
	uint64_t hurry; /* ns: deadline of all lookups; 0: none */
	bool stop;
};

/* Take the next incident; NULL: the thread should end. */
static struct incident *namer__take(struct namer *n)
{
	struct incident *inc = NULL;

	pthread_mutex_lock(&n->lock);
	while (!n->n && !n->stop) {
		pthread_mutex_unlock(&n->lock);
		examiner__rest(n->examiner, EXAMINER_NAMES);
		pthread_mutex_lock(&n->lock);
		if (!n->n && !n->stop)
			pthread_cond_wait(&n->given, &n->lock);
	}
	if (!n->stop) {
		inc = n->waiting[0];
		memmove(n->waiting, n->waiting + 1, --n->n * sizeof(n->waiting[0]));
	}
	pthread_mutex_unlock(&n->lock);
	return inc;
}

static uint64_t namer__deadline(struct namer *n)
{
	uint64_t deadline = now_ns() + INCIDENT_WAIT;

	pthread_mutex_lock(&n->lock);
	if (n->hurry && n->hurry < deadline)
		deadline = n->hurry;
	pthread_mutex_unlock(&n->lock);
	return deadline;
}

static void *namer_thread(void *arg)
{
	struct namer *n = arg;
	struct incident *inc;

	pthread_setname_np(pthread_self(), "frbpf-names");
	confine__writer();
	while ((inc = namer__take(n))) {
		inc->names_missing = !user_names__ask(inc->names, n->examiner, namer__deadline(n));
		n->done(inc, n->arg);
	}
	return NULL;
}

int namer__start(struct examiner *examiner, namer_done_fn done, void *arg, struct err *err,
		 struct namer **ret)
{
	struct namer *n = calloc(1, sizeof(*n));
	int code;

	if (!n)
		return err_set(err, -ENOMEM, "out of memory");
	n->examiner = examiner;
	n->done = done;
	n->arg = arg;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->given, NULL);
	code = -pthread_create(&n->thread, NULL, namer_thread, n);
	if (code) {
		free(n);
		return err_set(err, code, "cannot start a thread: %s", strerror(-code));
	}
	*ret = n;
	return 0;
}

void namer__submit(struct namer *n, struct incident *inc)
{
	pthread_mutex_lock(&n->lock);
	n->waiting[n->n++] = inc; /* fits: there is room for all incidents of the pool */
	pthread_cond_signal(&n->given);
	pthread_mutex_unlock(&n->lock);
}

void namer__hurry(struct namer *n, uint64_t deadline)
{
	pthread_mutex_lock(&n->lock);
	n->hurry = deadline;
	pthread_mutex_unlock(&n->lock);
}

void namer__free(struct namer *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->stop = true;
	pthread_cond_signal(&n->given);
	pthread_mutex_unlock(&n->lock);
	pthread_join(n->thread, NULL);
	pthread_mutex_destroy(&n->lock);
	pthread_cond_destroy(&n->given);
	free(n);
}
