// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/event_fd.h"
#include "detect/inject/listener.h"

struct entry {
	struct entry *next;
	uint64_t id; /* the data for epoll: a pointer could be reused by a later entry */
	int fd;
	listener_fn fn;
	void *arg;
};

struct listener {
	pthread_mutex_t lock; /* recursive: an @fn may remove entries */
	struct entry *entries;
	uint64_t last_id;
	int epoll; /* this and `stop`: -1 while the thread does not run */
	int stop;
	pthread_t thread;
};

struct listener *listener__new(void)
{
	struct listener *l = calloc(1, sizeof(*l));
	pthread_mutexattr_t attr;

	if (!l)
		return NULL;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&l->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	l->epoll = l->stop = -1;
	return l;
}

static struct entry *find_listener_id(const struct listener *l, uint64_t id)
{
	struct entry *e = l->entries;

	while (e && e->id != id)
		e = e->next;
	return e;
}

/* The thread. Id 0 is that of `stop`. */
static void *listen_thread(void *arg)
{
	struct listener *l = arg;
	struct epoll_event ev;
	struct entry *e;
	int n;

	for (;;) {
		n = epoll_wait(l->epoll, &ev, 1, -1);
		if (n < 0 && errno != EINTR)
			return NULL;
		if (n < 1)
			continue;
		if (!ev.data.u64)
			return NULL;
		pthread_mutex_lock(&l->lock);
		e = find_listener_id(l, ev.data.u64);
		if (e)
			e->fn(e->arg, ev.events);
		pthread_mutex_unlock(&l->lock);
	}
}

static void close_listener_fds(struct listener *l)
{
	if (l->epoll >= 0)
		close(l->epoll);
	if (l->stop >= 0)
		close(l->stop);
	l->epoll = l->stop = -1;
}

static int create_thread(struct listener *l)
{
	sigset_t all, old;
	int err;

	/* another thread handles signals; but a refused system call sends SIGSYS to its caller */
	sigfillset(&all);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	err = -pthread_create(&l->thread, NULL, listen_thread, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_setname_np(l->thread, LISTENER_NAME);
	return err;
}

static int start_listener(struct listener *l)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int err = 0;

	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->epoll < 0 || l->stop < 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->stop, &ev) < 0)
		err = -errno;
	err = err ?: create_thread(l);
	if (err)
		close_listener_fds(l);
	return err;
}

static void stop_thread(struct listener *l)
{
	event_fd__notify(l->stop);
	pthread_join(l->thread, NULL);
	close_listener_fds(l);
}

int listener__add(struct listener *l, int fd, uint32_t events, listener_fn fn, void *arg)
{
	struct entry *e = calloc(1, sizeof(*e));
	struct epoll_event ev = { .events = events };
	int err = 0;

	if (!e)
		return -ENOMEM;
	pthread_mutex_lock(&l->lock);
	if (l->epoll < 0)
		err = start_listener(l);
	if (!err) {
		*e = (struct entry){ l->entries, ++l->last_id, fd, fn, arg };
		ev.data.u64 = e->id;
		err = epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
	}
	if (!err)
		l->entries = e;
	else
		free(e);
	if (!l->entries && l->epoll >= 0)
		stop_thread(l); /* no deadlock: without entries the thread does not take the lock */
	pthread_mutex_unlock(&l->lock);
	return err;
}

void listener__remove(struct listener *l, int fd)
{
	struct entry **at, *e;
	bool last;

	pthread_mutex_lock(&l->lock);
	for (at = &l->entries; *at && (*at)->fd != fd;)
		at = &(*at)->next;
	e = *at;
	if (e) {
		epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL);
		*at = e->next;
		free(e);
	}
	last = !l->entries && l->epoll >= 0;
	pthread_mutex_unlock(&l->lock);
	if (last)
		stop_thread(l);
}

void listener__pause(struct listener *l)
{
	pthread_mutex_lock(&l->lock);
}

void listener__resume(struct listener *l)
{
	pthread_mutex_unlock(&l->lock);
}

void listener__free(struct listener *l)
{
	if (!l)
		return;
	if (l->epoll >= 0)
		stop_thread(l);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
