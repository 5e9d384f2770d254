// SPDX-License-Identifier: GPL-2.0-only
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/realtime.h"
#include "common/suspends.h"
#include "daemon/recorder_core.h"
#include "rules/units.h"

#define CONSUME_MAX 256

static bool find_rule(const struct active_set *g, uint64_t id, size_t *ret)
{
	for (size_t i = 0; g && i < g->rules->n_rules; i++) {
		if (g->rules->rules[i].id == id) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static void take_ring_trigger(struct recorder *r, struct active_set *g, size_t rule,
			      const struct frbpf_trigger *t)
{
	uint64_t begun = r->pool.begun, wanted = r->pool.states_wanted;

	incident_pool__trigger(&r->pool, g, rule, t);
	if (!r->fired || r->pool.begun != begun)
		event_fd__notify(r->progress);
	if (r->pool.states_wanted != wanted)
		state_reader__wake(r->states);
	r->fired = true;
	if (g == r->active)
		recorder_core__suppress_capped(r, g, rule);
}

static void on_trigger(const struct frbpf_trigger *t, void *arg)
{
	struct recorder *r = arg;
	size_t rule;

	pthread_mutex_lock(&r->lock);
	if (find_rule(r->active, t->rule_id, &rule))
		take_ring_trigger(r, r->active, rule, t);
	else if (find_rule(r->offered, t->rule_id, &rule))
		take_ring_trigger(r, r->offered, rule, t);
	else
		r->stats.stale++;
	pthread_mutex_unlock(&r->lock);
}

void recorder_core__on_stacks(const struct frbpf_stacks *s, void *arg)
{
	struct recorder *r = arg;

	pthread_mutex_lock(&r->lock);
	incident_pool__stacks(&r->pool, s);
	pthread_mutex_unlock(&r->lock);
}

/*
 * Handle at most CONSUME_MAX triggers at a time, to meet deadlines even in a storm. Returns their
 * number.
 */
static int consume_triggers(struct recorder *r)
{
	return detectors__consume(r->detectors, CONSUME_MAX, on_trigger, r);
}

/* The sessions of one freeze. */
struct frozen_set {
	struct session *sessions[INCIDENT_SESSIONS_MAX];
	struct ring_shot *shots[INCIDENT_SESSIONS_MAX];
	struct feed *feeds[INCIDENT_SESSIONS_MAX]; /* NULL: no program writes into it */
	size_t n;
	size_t n_files; /* plain sessions have nothing to freeze */
	uint64_t bytes;
};

static void select_sessions(const struct incident *inc, struct frozen_set *set)
{
	set->n = set->n_files = set->bytes = 0;
	for (size_t i = 0; i < inc->active->n_dumpers; i++) {
		struct dumper *d = inc->active->dumpers[i];

		if (!(inc->sessions & (1ULL << i)))
			continue;
		set->n_files++;
		if (d->session->plain)
			continue;
		set->sessions[set->n] = d->session;
		set->feeds[set->n] = d->feed;
		set->shots[set->n++] = d->shots;
		set->bytes += d->session->copy_bytes;
	}
}

/* Tell the feeds of a freeze: what they write from now on, the copies may lack. */
static void tell_feeds(const struct frozen_set *set, void (*tell)(struct feed *f, uint64_t time))
{
	uint64_t now = now_ns();

	for (size_t i = 0; i < set->n; i++)
		if (set->feeds[i])
			tell(set->feeds[i], now);
}

static void freeze_rings(struct recorder *r, struct incident *inc, const struct frozen_set *set)
{
	enum snapshot_mode mode = inc->active->rules->daemon.snapshot;
	bool is_short = freeze__is_short(set->bytes, r->copy_ns_per_mib);

	tell_feeds(set, feed__freeze_begins);
	if (mode == SNAPSHOT_LIVE || (mode == SNAPSHOT_AUTO && !is_short)) {
		freeze__mark(set->sessions, set->shots, set->n, &inc->freeze);
		tell_feeds(set, feed__frozen);
	} else {
		freeze__pause(set->sessions, set->shots, set->n, &inc->freeze);
		tell_feeds(set, feed__frozen);
		if (!is_short) /* `snapshot = pause`: no long copy with real-time priority */
			thread__set_class(THREAD_NORMAL, 0);
		freeze__copy_and_resume(set->sessions, set->shots, set->n, &inc->freeze);
		if (!is_short)
			thread__set_class(THREAD_REALTIME, r->rt_priority);
	}
	suspends__look();
	inc->realtime_offset = clock_ns(CLOCK_REALTIME) - now_ns();
}

static void freeze_incident(struct recorder *r, struct incident *inc)
{
	struct frozen_set set;
	struct active_set *g;
	uint64_t late, left;

	inc->min_free = inc->active->rules->daemon.min_free;
	select_sessions(inc, &set);
	freeze_rings(r, inc, &set);

	pthread_mutex_lock(&r->lock);
	late = inc->freeze.frozen > inc->due ? inc->freeze.frozen - inc->due : 0;
	r->stats.latency_last = late;
	if (late > r->stats.latency_max)
		r->stats.latency_max = late;
	incident_pool__frozen(inc, set.n_files);
	if (set.n_files)
		recorder_core__count_writing(r, 1);
	else
		event_fd__notify(r->progress);
	g = inc->active;
	left = inc->sessions;
	pthread_mutex_unlock(&r->lock);

	/* once the last part is submitted, the incident may be written and freed at any moment */
	for (; left; left &= left - 1)
		dumper__submit(g->dumpers[__builtin_ctzll(left)], inc, __builtin_ctzll(left));
}

static struct incident *next_due(struct recorder *r, uint64_t *ret_deadline)
{
	struct incident *inc;

	pthread_mutex_lock(&r->lock);
	inc = incident_pool__next_due(&r->pool, now_ns(), ret_deadline);
	pthread_mutex_unlock(&r->lock);
	return inc;
}

static void set_deadline(struct recorder *r, uint64_t deadline)
{
	struct itimerspec its = { 0 };

	if (deadline != UINT64_MAX) {
		its.it_value.tv_sec = deadline / NSEC_PER_SEC;
		its.it_value.tv_nsec = deadline % NSEC_PER_SEC;
	}
	timerfd_settime(r->timer, TFD_TIMER_ABSTIME, &its, NULL);
}

static void answer_sync(struct recorder *r)
{
	bool wanted;

	pthread_mutex_lock(&r->lock);
	wanted = r->sync_wanted;
	r->sync_wanted = false;
	pthread_mutex_unlock(&r->lock);
	if (!wanted)
		return;
	while (consume_triggers(r) == CONSUME_MAX)
		;
	sem_post(&r->synced);
}

void *trigger_thread(void *arg)
{
	struct recorder *r = arg;
	struct epoll_event ev[4];
	struct incident *inc;
	uint64_t deadline;

	pthread_setname_np(pthread_self(), "frbpf-trigger");
	r->stats.tid = gettid();
	r->stats.realtime = thread__set_class(THREAD_REALTIME, r->rt_priority);
	sem_post(&r->synced);
	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		while ((inc = next_due(r, &deadline)))
			freeze_incident(r, inc);
		set_deadline(r, deadline);
		if (epoll_wait(r->epoll, ev, ARRAY_SIZE(ev), -1) < 0)
			continue;
		event_fd__drain(r->wake);
		consume_triggers(r);
		answer_sync(r);
	}
	return NULL;
}
