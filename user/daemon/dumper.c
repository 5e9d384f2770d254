// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/event_fd.h"
#include "common/log.h"
#include "common/realtime.h"
#include "daemon/confine.h"
#include "daemon/dumper.h"

uint64_t dumper__memory(const struct dumper *d)
{
	const struct session *s = d->session;

	return s->n_cpus ? session__memory(s->cpus[0].ring.size, s->n_cpus, s->plain) : 0;
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

/* List sleeps that the copies of the rings lack: they had not ended, or ended at the freeze. */
static void list_asleep(struct dumper *d, struct buf *ret)
{
	uint64_t lost = 0;
	int err = d->feed ? feed__asleep(d->feed, incident__end(d->inc), ret, &lost) : 0;

	if (lost)
		log_warn("session '%s': %" PRIu64
			 " sleeps that ended at the freeze are not in the dump",
			 d->session->name, lost);
	if (err)
		log_warn("session '%s': sleeps that had not ended are not in the dump: %s",
			 d->session->name, strerror(-err));
}

static void write_incident_part(struct dumper *d)
{
	struct buf asleep = { 0 };
	struct dump_job job = {
		.env = d->env,
		.inc = d->inc,
		.session = d->session,
		.shots = d->shots,
		.gaps = d->gaps,
		.dir_fd = d->dir_fd,
		.asleep = &asleep,
	};

	if (d->inc->freeze.live)
		freeze__copy_live(d->session, d->shots);
	list_asleep(d, &asleep);
	renew_dir(d);
	dump__write(&job, &d->inc->results[d->index]);
	buf__free(&asleep);
	for (size_t c = 0; !d->inc->freeze.live && c < d->session->n_cpus; c++) {
		if (d->shots[c].paused) /* 0: the CPU came online after the freeze */
			gap_log__add(&d->gaps[c], d->shots[c].paused, d->shots[c].resumed);
	}
}

/* Get the next job; NULL: there is none yet. False: the thread ends. */
static bool next_job(struct dumper *d, bool wait, struct incident **ret)
{
	*ret = NULL;
	while ((wait ? sem_wait(&d->wake) : sem_trywait(&d->wake)) < 0) {
		if (errno != EINTR)
			return true;
	}
	*ret = d->inc;
	return d->inc;
}

static void report_plain_end(struct dumper *d, const struct err *why)
{
	char text[sizeof(why->msg) + 1];

	snprintf(text, sizeof(text), "%s\n", why->msg);
	if (d->proxy)
		proxy__print(d->proxy, text);
	log_warn("session '%s' writes no more: %s", d->session->name, why->msg);
	atomic_store(&d->full, true);
	d->done(d->done_arg, d, NULL, 0);
}

static void end_plain(struct dumper *d)
{
	char *text = plain_recorder__free(TAKE_PTR(d->plain));

	if (text && text[0] && d->proxy && !d->session->output.switches)
		proxy__print(d->proxy, text);
	free(text);
}

static void run_plain(struct dumper *d)
{
	struct incident *inc;
	struct err why;

	for (;;) {
		if (!plain_recorder__step(d->plain, d->plain_wake, &why) && why.msg[0])
			report_plain_end(d, &why);
		if (!next_job(d, false, &inc))
			break;
		if (!inc)
			continue;
		if (d->env->before_write)
			d->env->before_write(d->env->before_write_arg, inc);
		renew_dir(d);
		plain_recorder__dump(d->plain, inc, atomic_load(&d->ends), &inc->results[d->index]);
		d->done(d->done_arg, d, inc, d->index);
	}
	end_plain(d);
}

static void *dumper_thread(void *arg)
{
	struct dumper *d = arg;
	struct incident *inc;
	char name[16];

	snprintf(name, sizeof(name), "dump-%.10s", d->session->name);
	pthread_setname_np(pthread_self(), name);
	confine__writer();
	thread__set_class(d->plain ? THREAD_NORMAL : THREAD_BACKGROUND, 0);
	d->tid = gettid();
	sem_post(&d->ready);
	if (d->plain) {
		run_plain(d);
		return NULL;
	}
	while (next_job(d, true, &inc)) {
		write_incident_part(d);
		d->done(d->done_arg, d, inc, d->index);
	}
	return NULL;
}

/*
 * Prepare the session before its thread starts. A plain session begins its file here, so that a
 * failure makes dumper__start() fail.
 */
static int prepare_session(struct dumper *d, struct err *err)
{
	if (!d->session->plain)
		return horizon__add(d->env->horizon, d->session)
			       ? err_set(err, -ENOMEM, "out of memory")
			       : 0;
	d->plain_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->plain_wake < 0)
		return err_set(err, -errno, "eventfd: %s", strerror(errno));
	return plain_recorder__new(d->env, d->session, d->dir_fd, err, &d->plain);
}

int dumper__start(struct session *session, struct feed *feed, struct proxy *proxy,
		  const struct dump_env *env, dumper_done_fn done, void *done_arg, struct err *err,
		  struct dumper **ret)
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
			      .done_arg = done_arg,
			      .plain_wake = -1 };
	sem_init(&d->wake, 0, 0);
	sem_init(&d->ready, 0, 0);
	d->shots = calloc(session->max_cpus, sizeof(*d->shots));
	d->gaps = calloc(session->max_cpus, sizeof(*d->gaps));
	code = d->dir_fd = base_dir__open_session(env->base, session->name, err);
	if (code >= 0 && (!d->shots || !d->gaps))
		code = err_set(err, -ENOMEM, "out of memory");
	if (code >= 0)
		code = prepare_session(d, err);
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

static void wake_thread(struct dumper *d)
{
	sem_post(&d->wake);
	if (d->plain_wake >= 0)
		event_fd__notify(d->plain_wake);
}

void dumper__submit(struct dumper *d, struct incident *inc, size_t index)
{
	d->inc = inc;
	d->index = index;
	wake_thread(d);
}

void dumper__set_ends(struct dumper *d)
{
	atomic_store(&d->ends, true);
}

bool dumper__makes_dumps(const struct dumper *d)
{
	return !d->session->plain || d->session->output.switches;
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
		wake_thread(d);
		pthread_join(d->thread, NULL);
	}
	free(plain_recorder__free(d->plain)); /* its thread did not start */
	if (d->plain_wake >= 0)
		close(d->plain_wake);
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
