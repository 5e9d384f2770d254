// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/realtime.h"
#include "daemon/recorder_core.h"
#include "rules/units.h"

void recorder_core__suppress_capped(struct recorder *r, const struct active_set *g, size_t rule)
{
	detectors__suppress(
		r->detectors, g->slots[rule],
		dump_limiter__free_at(&g->counters[rule].dumps, &g->rules->rules[rule].max_dumps));
	detectors__suppress(r->detectors, FRBPF_SUPPRESS_ALL,
			    dump_limiter__free_at(&r->pool.dumps, &g->rules->daemon.max_dumps));
}

void recorder__dumper_callback(struct recorder *r, dumper_done_fn *ret_fn, void **ret_arg)
{
	*ret_fn = recorder_core__on_dumped;
	*ret_arg = r;
}

static int watch_recorder_fd(struct recorder *r, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

static int open_recorder_fds(struct recorder *r)
{
	int err;

	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->progress = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->epoll < 0 || r->timer < 0 || r->wake < 0 || r->progress < 0)
		return -errno;
	err = watch_recorder_fd(r, r->timer);
	err = err ?: watch_recorder_fd(r, r->wake);
	return err ?: watch_recorder_fd(r, detectors__fd(r->detectors));
}

static int init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	err = -pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return err;
}

int recorder__new(const struct recorder_opts *opts, struct err *err, struct recorder **ret)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	*r = (struct recorder){ .detectors = opts->detectors,
				.rt_priority = opts->rt_priority,
				.epoll = -1,
				.timer = -1,
				.wake = -1,
				.progress = -1 };
	sem_init(&r->synced, 0, 0);
	r->copy_ns_per_mib = freeze__measure_copy();
	detectors__on_stacks(r->detectors, recorder_core__on_stacks, r);
	code = thread__init_lock(&r->lock);
	code = code ?: init_cond(&r->notified_more);
	code = code ?: incident_pool__init(&r->pool);
	code = code ?: open_recorder_fds(r);
	code = code ?: reaper__start(err, &r->reaper);
	if (!code && opts->examiner)
		code = namer__start(opts->examiner, recorder_core__on_named, r, err, &r->namer);
	code = code
		       ?: state_reader__start(opts->examiner, &r->lock, &r->pool, r->progress, err,
					      &r->states);
	code = code ?: vitals__start(err, &r->vitals);
	code = code ?: -pthread_create(&r->thread, NULL, trigger_thread, r);
	if (code) {
		recorder__free(r);
		return err_set(err, code, "cannot start the trigger thread: %s", strerror(-code));
	}
	r->running = true;
	while (sem_wait(&r->synced) < 0)
		;
	*ret = r;
	return 0;
}

void recorder__sync(struct recorder *r)
{
	pthread_mutex_lock(&r->lock);
	r->sync_wanted = true;
	pthread_mutex_unlock(&r->lock);
	event_fd__notify(r->wake);
	while (sem_wait(&r->synced) < 0)
		;
}

static void offer_active_set(struct recorder *r, struct active_set *g)
{
	pthread_mutex_lock(&r->lock);
	r->offered = g;
	pthread_mutex_unlock(&r->lock);
}

static void commit_offered(struct recorder *r)
{
	struct active_set *old;

	recorder__sync(r);
	pthread_mutex_lock(&r->lock);
	old = r->active;
	if (old)
		active_set__take_counters(r->offered, old);
	r->active = r->offered;
	r->offered = NULL;
	for (size_t i = 0; i < r->active->rules->n_rules; i++)
		recorder_core__suppress_capped(r, r->active, i);
	pthread_mutex_unlock(&r->lock);
	reaper__give(r->reaper, old);
}

static void withdraw_offered(struct recorder *r)
{
	struct active_set *g;

	recorder__sync(r);
	pthread_mutex_lock(&r->lock);
	g = r->offered;
	r->offered = NULL;
	pthread_mutex_unlock(&r->lock);
	reaper__give(r->reaper, g);
}

int recorder__put_in_force(struct recorder *r, struct active_set *g, struct err *err)
{
	const struct ruleset *rs = g->rules;
	int code;

	heap__begin_load();
	offer_active_set(r, g);
	code = detectors__update(r->detectors, rs->rules, rs->n_rules, g->slots, err);
	if (code)
		withdraw_offered(r);
	else
		commit_offered(r);
	heap__end_load(); /* before mlockall(), which also locks free memory */
	/* Keep what the real-time threads touch in memory. Not an error if it is refused. */
	mlockall(MCL_CURRENT | MCL_ONFAULT);
	return code;
}

int recorder__renew(struct recorder *r, struct err *err)
{
	const struct ruleset *rs = r->active->rules;
	_cleanup_free_ uint32_t *slots = calloc(rs->n_rules ?: 1, sizeof(*slots));

	if (!slots)
		return err_set(err, -ENOMEM, "out of memory");
	/* rules that stay keep their slots */
	return detectors__update(r->detectors, rs->rules, rs->n_rules, slots, err);
}

void recorder__reap(struct recorder *r)
{
	reaper__wait(r->reaper);
}

struct active_set *recorder__active_set(struct recorder *r)
{
	return r->active;
}

void recorder__mute(struct recorder *r, size_t i, uint64_t until)
{
	pthread_mutex_lock(&r->lock);
	r->active->muted_until[i] = until;
	pthread_mutex_unlock(&r->lock);
}

int64_t recorder__dump(struct recorder *r, uint64_t mask, const char *reason)
{
	struct frbpf_trigger t = {
		.time = now_ns(),
		.cpu = sched_getcpu(),
		.subject = { .pid = getpid(),
			     .tid = gettid(),
			     .comm = "frbpf",
			     .process = "frbpf" },
	};
	struct incident *inc;
	int64_t number;

	pthread_mutex_lock(&r->lock);
	inc = incident_pool__manual(&r->pool, r->active, mask, reason, &t);
	number = inc ? (int64_t)inc->number : -EBUSY;
	pthread_mutex_unlock(&r->lock);
	event_fd__notify(r->wake);
	return number;
}

int recorder__fd(const struct recorder *r)
{
	return r->progress;
}

void recorder__stats(struct recorder *r, struct recorder_stats *ret)
{
	pthread_mutex_lock(&r->lock);
	*ret = r->stats;
	ret->incidents = r->pool.begun;
	ret->busy = r->pool.busy;
	ret->writing = incident_pool__under_way(&r->pool);
	pthread_mutex_unlock(&r->lock);
}

static uint64_t active_set_longest_pre(const struct active_set *g, uint64_t longest)
{
	for (size_t i = 0; g && i < g->rules->n_rules; i++) {
		uint64_t pre = g->rules->rules[i].pre;

		if (pre != RULESET_WINDOW_AUTO && pre > longest)
			longest = pre;
	}
	return longest;
}

uint64_t recorder__longest_pre(struct recorder *r)
{
	uint64_t longest;

	pthread_mutex_lock(&r->lock);
	longest = active_set_longest_pre(r->offered, active_set_longest_pre(r->active, 0));
	pthread_mutex_unlock(&r->lock);
	return longest;
}

void recorder__counters(struct recorder *r, size_t i, struct rule_counters *ret)
{
	pthread_mutex_lock(&r->lock);
	*ret = r->active->counters[i];
	pthread_mutex_unlock(&r->lock);
}

size_t recorder__written_names(struct recorder *r, char ret[INCIDENT_POOL_SIZE][INCIDENT_NAME_SIZE])
{
	size_t n = 0;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		if (r->pool.v[i]->state == INCIDENT_WRITTEN)
			memcpy(ret[n++], r->pool.v[i]->name, INCIDENT_NAME_SIZE);
	}
	pthread_mutex_unlock(&r->lock);
	return n;
}

void recorder__set_name(struct recorder *r, struct incident *inc,
			const char name[static INCIDENT_NAME_SIZE])
{
	pthread_mutex_lock(&r->lock);
	memcpy(inc->name, name, INCIDENT_NAME_SIZE);
	pthread_mutex_unlock(&r->lock);
}

void recorder__dumps(struct recorder *r, struct dump_limiter *ret)
{
	pthread_mutex_lock(&r->lock);
	*ret = r->pool.dumps;
	pthread_mutex_unlock(&r->lock);
}

void recorder__remember_dumps(struct recorder *r, const struct dump_limiter *dumps)
{
	pthread_mutex_lock(&r->lock);
	r->pool.dumps = *dumps;
	pthread_mutex_unlock(&r->lock);
}

void recorder__free(struct recorder *r)
{
	if (!r)
		return;
	if (r->running) {
		__atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
		event_fd__notify(r->wake);
		pthread_join(r->thread, NULL);
	}
	namer__free(r->namer);
	state_reader__free(r->states);
	vitals__free(r->vitals);
	active_set__unref(r->active);
	active_set__unref(r->offered);
	incident_pool__free(&r->pool);
	reaper__free(r->reaper);
	for (size_t i = 0; i < 4; i++) {
		int fd = (int[]){ r->epoll, r->timer, r->wake, r->progress }[i];

		if (fd >= 0)
			close(fd);
	}
	sem_destroy(&r->synced);
	free(r);
}
