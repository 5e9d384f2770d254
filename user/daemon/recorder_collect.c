// SPDX-License-Identifier: GPL-2.0-only
/* The end of incidents that are written: manifests, names, freeing them. */
#include <poll.h>
#include <stdlib.h>

#include "common/clock.h"
#include "daemon/recorder_core.h"
#include "dump/window/contradiction.h"
#include "dump/window/task_moves.h"
#include "rules/units.h"

/* How long after a dump the kernel still works for it: journal, flushes of the disk. */
#define SELF_AFTER_NS NSEC_PER_SEC
/* If a write takes longer, the disk is at fault, not our dump: rules on the disk fire again. */
#define SELF_MAX_NS   (30 * NSEC_PER_SEC)
#define NAMES_MAX_NS  (2 * NSEC_PER_SEC) /* for the names of the last incidents */
#define STATES_MAX_NS NSEC_PER_SEC	 /* for the states of the last subjects */
#define NOTIFY_EVERY  NSEC_PER_SEC	 /* between reports of triggers that begin no incident */
/*
 * A manifest that cannot be written is tried again after MANIFEST_WAIT_MIN, then after twice as
 * long each time. The attempt after MANIFEST_WAIT_MAX is the last.
 */
#define MANIFEST_WAIT_MIN NSEC_PER_SEC
#define MANIFEST_WAIT_MAX (32 * NSEC_PER_SEC)

void recorder_core__count_writing(struct recorder *r, int more)
{
	r->n_writing += more;
	detectors__note_writing(r->detectors, r->n_writing);
	detectors__suppress(r->detectors, FRBPF_SUPPRESS_SELF,
			    now_ns() + (r->n_writing ? SELF_MAX_NS : SELF_AFTER_NS));
}

/* Called in a dumper's thread. */
void recorder_core__on_dumped(void *arg, struct dumper *d, struct incident *inc, size_t index)
{
	struct recorder *r = arg;

	if (!inc) { /* a plain session has come to its end: wake the main thread to end it */
		event_fd__notify(r->progress);
		return;
	}
	pthread_mutex_lock(&r->lock);
	d->busy = false;
	d->freed = now_ns();
	if (inc->results[index].error)
		r->stats.failed++;
	if (incident_pool__part_written(inc)) {
		recorder_core__count_writing(r, -1);
		event_fd__notify(r->progress);
	}
	pthread_mutex_unlock(&r->lock);
	event_fd__notify(r->wake);
}

/* Called in the namer's thread. */
void recorder_core__on_named(struct incident *inc, void *arg)
{
	struct recorder *r = arg;

	pthread_mutex_lock(&r->lock);
	inc->naming = false;
	inc->named = true;
	pthread_mutex_unlock(&r->lock);
	event_fd__notify(r->progress);
}

static void let_incident_go(struct recorder *r, struct incident *inc)
{
	struct dump_remains remains[INCIDENT_SESSIONS_MAX];
	struct active_set *g;

	pthread_mutex_lock(&r->lock);
	g = incident_pool__release(inc, remains);
	pthread_mutex_unlock(&r->lock);
	if (!g) {
		event_fd__notify(r->progress);
		return;
	}
	for (size_t i = 0; i < INCIDENT_SESSIONS_MAX; i++) {
		free(remains[i].cpus);
		task_moves__free(remains[i].moves);
	}
	reaper__give(r->reaper, g);
}

/*
 * Look up names only when everything is written: a lookup reads files of other users, which may be
 * on a disk that hangs.
 */
static void ask_for_incident_names(struct recorder *r, struct incident *inc)
{
	if (!inc->names)
		return;
	if (!r->namer) {
		user_names__free(inc->names);
		inc->names = NULL;
		inc->names_missing = true;
		return;
	}
	pthread_mutex_lock(&r->lock);
	inc->naming = true;
	pthread_mutex_unlock(&r->lock);
	namer__submit(r->namer, inc);
}

/* Take names that were looked up; the manifest must be written again then. */
static bool take_incident_names(struct recorder *r, struct incident *inc)
{
	bool named;

	pthread_mutex_lock(&r->lock);
	named = inc->named;
	inc->named = false;
	if (named)
		inc->manifest_stale = true;
	pthread_mutex_unlock(&r->lock);
	if (!named)
		return false;
	if (user_names__take_over(inc->names, inc))
		inc->names_missing = true;
	user_names__free(inc->names);
	inc->names = NULL;
	return true;
}

/* Take states that came after the manifest; it must be written again then. */
static bool take_incident_states(struct recorder *r, struct incident *inc)
{
	bool stated;

	pthread_mutex_lock(&r->lock);
	stated = inc->stated;
	inc->stated = false;
	if (stated)
		inc->manifest_stale = true;
	pthread_mutex_unlock(&r->lock);
	return stated;
}

/*
 * Called after an attempt to write the manifest: if it failed, schedule the next one. Readers do
 * not see an incident without a manifest. If all attempts fail, the next start of the daemon uses
 * the draft. Under the lock.
 */
static void plan_manifest(struct recorder *r, struct incident *inc, bool written)
{
	if (written) {
		inc->manifest_at = inc->manifest_wait = 0;
		return;
	}
	r->stats.failed++;
	inc->manifest_wait = inc->manifest_wait ? 2 * inc->manifest_wait : MANIFEST_WAIT_MIN;
	inc->manifest_at = now_ns() + inc->manifest_wait;
	inc->manifest_stale = inc->manifest_wait <= MANIFEST_WAIT_MAX;
}

static void hand_over_incident(struct recorder *r, struct incident *inc, bool first,
			       recorder_collect_fn fn, void *arg)
{
	bool written;

	contradiction__look_merged(inc);
	if (first)
		inc->vitals = vitals__get(r->vitals, inc->triggers[0].t.time);
	written = fn(inc, first, arg);
	pthread_mutex_lock(&r->lock);
	recorder_core__count_writing(r, -1);
	plan_manifest(r, inc, written);
	pthread_mutex_unlock(&r->lock);
}

/* Returns ns until @inc must be looked at again; 0: it is finished. */
static uint64_t collect_one(struct recorder *r, struct incident *inc, recorder_collect_fn fn,
			    void *arg)
{
	bool stale, first, closed, named, naming, again;
	uint64_t expires, now = now_ns();

	named = take_incident_names(r, inc);
	named = take_incident_states(r, inc) || named;
	pthread_mutex_lock(&r->lock);
	expires = incident_pool__merge_end(inc);
	first = !inc->reported;
	closed = r->pool.closed;
	stale = inc->manifest_stale && (first || named || now >= expires || closed) &&
		(closed || now >= inc->manifest_at);
	if (stale) {
		inc->manifest_stale = false;
		recorder_core__count_writing(r, 1);
	}
	pthread_mutex_unlock(&r->lock);
	inc->reported = true;
	if (stale)
		hand_over_incident(r, inc, first, fn, arg);
	if (first)
		ask_for_incident_names(r, inc);
	pthread_mutex_lock(&r->lock);
	naming = inc->naming;
	again = inc->manifest_stale && inc->manifest_wait;
	if (closed && again) /* the last attempt */
		again = inc->manifest_stale = false;
	pthread_mutex_unlock(&r->lock);
	if (now < expires && !closed)
		return expires - now;
	if (again)
		return inc->manifest_wait;
	return naming ? UINT64_MAX : 0;
}

void recorder__on_triggers(struct recorder *r, recorder_trigger_fn fn, void *arg)
{
	r->triggered = fn;
	r->triggered_arg = arg;
}

void recorder__wait_saved(void *arg, const struct incident *inc)
{
	struct recorder *r = arg;
	uint64_t until = now_ns() + RECORDER_SAVE_MAX;
	const struct timespec ts = { until / NSEC_PER_SEC, until % NSEC_PER_SEC };
	int err = 0;

	pthread_mutex_lock(&r->lock);
	while (r->triggered && !inc->manual && r->notified < inc->number && !err)
		err = pthread_cond_timedwait(&r->notified_more, &r->lock, &ts);
	pthread_mutex_unlock(&r->lock);
}

/* Returns ns until there may be more to report. */
static uint64_t notify_triggers(struct recorder *r)
{
	uint64_t begun, since, now = now_ns();
	bool fired;

	pthread_mutex_lock(&r->lock);
	begun = r->pool.begun;
	since = now - r->notified_at;
	fired = r->fired;
	if (begun != r->notified || since >= NOTIFY_EVERY)
		r->fired = false;
	pthread_mutex_unlock(&r->lock);
	if (!r->triggered || (!fired && begun == r->notified))
		return UINT64_MAX;
	if (begun == r->notified && since < NOTIFY_EVERY)
		return NOTIFY_EVERY - since;
	r->triggered(r->triggered_arg);
	pthread_mutex_lock(&r->lock);
	r->notified = begun;
	r->notified_at = now;
	pthread_cond_broadcast(&r->notified_more);
	pthread_mutex_unlock(&r->lock);
	return UINT64_MAX;
}

bool recorder__next_cap(struct recorder *r, struct dump_cap *ret)
{
	bool more;

	pthread_mutex_lock(&r->lock);
	more = incident_pool__next_cap(&r->pool, r->active, now_ns(), ret);
	pthread_mutex_unlock(&r->lock);
	return more;
}

uint64_t recorder__collect(struct recorder *r, recorder_collect_fn fn, void *arg)
{
	uint64_t next, wait;

	event_fd__drain(r->progress);
	next = notify_triggers(r);
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		struct incident *inc = r->pool.v[i];
		bool written;

		pthread_mutex_lock(&r->lock);
		written = inc->state == INCIDENT_WRITTEN;
		pthread_mutex_unlock(&r->lock);
		if (!written)
			continue;
		wait = collect_one(r, inc, fn, arg);
		if (!wait)
			let_incident_go(r, inc);
		else if (wait < next)
			next = wait;
	}
	return next;
}

static bool is_naming(struct recorder *r)
{
	bool naming = false;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++)
		naming |= r->pool.v[i]->naming || r->pool.v[i]->named;
	pthread_mutex_unlock(&r->lock);
	return naming;
}

void recorder__drain(struct recorder *r, recorder_collect_fn fn, void *arg)
{
	struct pollfd pfd = { .fd = r->progress, .events = POLLIN };
	struct recorder_stats stats;

	pthread_mutex_lock(&r->lock);
	incident_pool__close(&r->pool);
	pthread_mutex_unlock(&r->lock);
	event_fd__notify(r->wake);
	state_reader__wait(r->states, now_ns() + STATES_MAX_NS);
	for (;;) {
		recorder__stats(r, &stats);
		if (!stats.writing)
			break;
		poll(&pfd, 1, -1);
		recorder__collect(r, fn, arg);
	}
	recorder__collect(r, fn, arg);
	if (r->namer)
		namer__hurry(r->namer, now_ns() + NAMES_MAX_NS);
	while (is_naming(r)) {
		poll(&pfd, 1, -1);
		recorder__collect(r, fn, arg);
	}
}
