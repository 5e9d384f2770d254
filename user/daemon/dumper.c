// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/realtime.h"
#include "daemon/confine.h"
#include "daemon/dumper.h"

uint64_t dumper__memory(const struct dumper *d)
{
	const struct session *s = d->session;

	return s->n_cpus ? session__memory(s->cpus[0].ring.size, s->n_cpus) : 0;
}

uint64_t dumper__memory_of_all(void)
{
	return session__memory_of_all();
}

int dumper__renew_dir(struct dumper *d, struct err *err)
{
	char name[NAME_MAX];

	snprintf(name, sizeof(name), "session-%s", d->session->name);
	return base_dir__renew(d->env->base, name, d->dir_fd, err);
}

static void renew_dir(struct dumper *d)
{
	struct err err = { 0 };

	if (dumper__renew_dir(d, &err) > 0)
		log_warn("%s/session-%s was removed: created again", d->env->base->path,
			 d->session->name);
	else if (err.msg[0])
		log_error("%s", err.msg);
}

static void write_part(struct dumper *d)
{
	struct dump_job job = {
		.env = d->env,
		.inc = d->inc,
		.session = d->session,
		.shots = d->shots,
		.gaps = d->gaps,
		.dir_fd = d->dir_fd,
	};

	if (d->inc->freeze.live)
		freeze__copy_live(d->session, d->shots);
	renew_dir(d);
	dump__write(&job, &d->inc->results[d->index]);
	for (size_t c = 0; !d->inc->freeze.live && c < d->session->n_cpus; c++) {
		if (d->shots[c].paused) /* not if the CPU came on line after the freeze */
			gap_log__add(&d->gaps[c], d->shots[c].paused, d->shots[c].resumed);
	}
}

static void *dumper_thread(void *arg)
{
	struct dumper *d = arg;
	char name[16];

	snprintf(name, sizeof(name), "dump-%.10s", d->session->name);
	pthread_setname_np(pthread_self(), name);
	confine__writer();
	thread__set_class(THREAD_BACKGROUND, 0);
	d->tid = gettid();
	sem_post(&d->ready);
	for (;;) {
		while (sem_wait(&d->wake) < 0)
			;
		if (!d->inc)
			return NULL;
		write_part(d);
		d->done(d->done_arg, d, d->inc, d->index);
	}
}

int dumper__start(struct session *session, struct feed *feed, struct proxy *proxy,
		  const struct dump_env *env, dumper_done_fn done, void *done_arg, struct err *err, struct dumper **ret)
{
	struct dumper *d = calloc(1, sizeof(*d));
	int code;

	if (!d) {
		feed__free(feed);
		session__unref(session);
		proxy__unref(proxy);
		return err_set(err, -ENOMEM, "out of memory");
	}
	atomic_init(&d->refs, 1);
	*d = (struct dumper){ .refs = 1,
			      .session = session,
			      .feed = feed,
			      .proxy = proxy,
			      .env = env,
			      .done = done,
			      .done_arg = done_arg };
	sem_init(&d->wake, 0, 0);
	sem_init(&d->ready, 0, 0);
	d->shots = calloc(session->max_cpus, sizeof(*d->shots));
	d->gaps = calloc(session->max_cpus, sizeof(*d->gaps));
	code = d->dir_fd = base_dir__open_session(env->base, session->name, err);
	if (code >= 0 && (!d->shots || !d->gaps))
		code = err_set(err, -ENOMEM, "out of memory");
	if (code >= 0 && horizon__add(env->horizon, session))
		code = err_set(err, -ENOMEM, "out of memory");
	if (code >= 0) {
		code = -pthread_create(&d->thread, NULL, dumper_thread, d);
		if (code)
			err_set(err, code, "cannot start a thread: %s", strerror(-code));
	}
	if (code < 0) {
		dumper__unref(d);
		return code;
	}
	d->running = true;
	while (sem_wait(&d->ready) < 0)
		;
	*ret = d;
	return 0;
}

void dumper__submit(struct dumper *d, struct incident *inc, size_t index)
{
	d->inc = inc;
	d->index = index;
	sem_post(&d->wake);
}

struct dumper *dumper__ref(struct dumper *d)
{
	atomic_fetch_add(&d->refs, 1);
	return d;
}

void dumper__unref(struct dumper *d)
{
	if (!d || atomic_fetch_sub(&d->refs, 1) > 1)
		return;
	if (d->running) {
		d->inc = NULL;
		sem_post(&d->wake);
		pthread_join(d->thread, NULL);
	}
	if (d->dir_fd >= 0)
		close(d->dir_fd);
	target_end__free(d->target_end);
	horizon__remove(d->env->horizon, d->session);
	feed__free(d->feed);
	session__unref(d->session);
	proxy__unref(d->proxy);
	free(d->shots);
	free(d->gaps);
	sem_destroy(&d->wake);
	sem_destroy(&d->ready);
	free(d);
}
