// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/reaper.h"

struct reaper {
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t given, idle;
	struct active_set *first; /* linked by next_given */
	bool busy;
	bool stop;
};

/* Take the next active set to free; NULL: the thread should end. */
static struct active_set *take_active_set(struct reaper *r)
{
	struct active_set *g;

	pthread_mutex_lock(&r->lock);
	r->busy = false;
	if (!r->first)
		pthread_cond_broadcast(&r->idle);
	while (!r->first && !r->stop)
		pthread_cond_wait(&r->given, &r->lock);
	g = r->first;
	if (g) {
		r->first = g->next_given;
		r->busy = true;
	}
	pthread_mutex_unlock(&r->lock);
	return g;
}

static void *reaper_thread(void *arg)
{
	struct active_set *g;

	pthread_setname_np(pthread_self(), "frbpf-reaper");
	while ((g = take_active_set(arg))) {
		active_set__unref(g);
		malloc_trim(0); /* slow, but nobody waits here; also frees what rules took */
	}
	return NULL;
}

int reaper__start(struct err *err, struct reaper **ret)
{
	struct reaper *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->given, NULL);
	pthread_cond_init(&r->idle, NULL);
	code = -pthread_create(&r->thread, NULL, reaper_thread, r);
	if (code) {
		free(r);
		return err_set(err, code, "cannot start a thread: %s", strerror(-code));
	}
	*ret = r;
	return 0;
}

void reaper__give(struct reaper *r, struct active_set *g)
{
	if (!g || active_set__unref_unless_last(g))
		return;
	pthread_mutex_lock(&r->lock);
	g->next_given = r->first;
	r->first = g;
	pthread_cond_signal(&r->given);
	pthread_mutex_unlock(&r->lock);
}

void reaper__wait(struct reaper *r)
{
	pthread_mutex_lock(&r->lock);
	while (r->first || r->busy)
		pthread_cond_wait(&r->idle, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

void reaper__free(struct reaper *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_signal(&r->given);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->given);
	free(r);
}
