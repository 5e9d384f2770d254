// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/event_fd.h"
#include "common/log.h"
#include "common/realtime.h"
#include "daemon/followed_log.h"
#include "dump/base/manifest.h"

/* ns to keep an end without an incident: its manifest may be written later, or never. */
#define END_KEPT (300 * NSEC_PER_SEC)

struct followed_entry {
	struct frbpf_followed_key of; /* rule_id 0: free */
	pid_t tid;
	char rule[RULESET_NAME_MAX + 1];
	char incident[INCIDENT_NAME_SIZE];
};

struct followed_log {
	const struct base_dir *base;
	struct recorder *recorder;
	struct detectors *detectors;
	struct followed_entry v[FRBPF_MAX_FOLLOWED]; /* a new one replaces the oldest */
	uint64_t n;				     /* entries so far */
	pthread_mutex_t lock;			     /* guards what follows */
	struct frbpf_ended ended[FRBPF_MAX_FOLLOWED];
	size_t n_ended;
};

/* Runs in the real-time thread, so it only copies. Without room, the oldest end is dropped. */
static void followed_log__on_ended(const struct frbpf_ended *e, void *arg)
{
	struct followed_log *h = arg;

	pthread_mutex_lock(&h->lock);
	if (h->n_ended == FRBPF_MAX_FOLLOWED)
		memmove(&h->ended[0], &h->ended[1], --h->n_ended * sizeof(h->ended[0]));
	h->ended[h->n_ended++] = *e;
	pthread_mutex_unlock(&h->lock);
	event_fd__notify(recorder__fd(h->recorder));
}

struct followed_log *followed_log__new(const struct base_dir *base, struct recorder *r,
				       struct detectors *d)
{
	struct followed_log *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->base = base;
	h->recorder = r;
	h->detectors = d;
	thread__init_lock(&h->lock);
	detectors__on_ended(d, followed_log__on_ended, h);
	return h;
}

static struct frbpf_followed_key followed_key_of(const struct incident_trigger *it)
{
	return (struct frbpf_followed_key){ it->t.rule_id, it->t.time - it->t.value, it->t.id };
}

static struct followed_entry *followed_log__find(struct followed_log *h,
						 const struct frbpf_followed_key *of)
{
	for (size_t i = 0; i < FRBPF_MAX_FOLLOWED; i++) {
		if (h->v[i].of.rule_id && !memcmp(&h->v[i].of, of, sizeof(*of)))
			return &h->v[i];
	}
	return NULL;
}

static void followed_log__note(struct followed_log *h, const struct incident *inc,
			       const struct incident_trigger *it)
{
	struct frbpf_followed_key of = followed_key_of(it);
	struct followed_entry *e;

	if (!it->rule || !(it->t.flags & FRBPF_TRIGGER_FOLLOWED) || followed_log__find(h, &of))
		return;
	e = &h->v[h->n++ % FRBPF_MAX_FOLLOWED];
	*e = (struct followed_entry){ .of = of, .tid = (pid_t)it->t.subject.tid };
	snprintf(e->rule, sizeof(e->rule), "%s", it->rule->name);
	memcpy(e->incident, inc->name, sizeof(e->incident));
}

void followed_log__incident(struct followed_log *h, const struct incident *inc)
{
	size_t n_merged = __atomic_load_n(&inc->n_merged, __ATOMIC_ACQUIRE);

	for (size_t i = 0; i < inc->n_triggers; i++)
		followed_log__note(h, inc, &inc->triggers[i]);
	for (size_t i = 0; i < n_merged; i++)
		followed_log__note(h, inc, &inc->merged[i]);
}

/* Take out the first end whose incident is known; forget those that are too old. */
static bool followed_log__take(struct followed_log *h, struct frbpf_ended *ret,
			       struct followed_entry **ret_entry)
{
	uint64_t now = now_ns();
	bool found = false;
	size_t kept = 0;

	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < h->n_ended; i++) {
		struct followed_entry *e = found ? NULL : followed_log__find(h, &h->ended[i].of);

		if (e) {
			*ret = h->ended[i];
			*ret_entry = e;
			found = true;
		} else if (found || now - h->ended[i].time < END_KEPT) {
			h->ended[kept++] = h->ended[i];
		}
	}
	h->n_ended = kept;
	pthread_mutex_unlock(&h->lock);
	return found;
}

void followed_log__step(struct followed_log *h)
{
	struct followed_entry *e;
	struct frbpf_ended ended;

	while (followed_log__take(h, &ended, &e)) {
		struct err err = { 0 };
		int code = manifest__ended(h->base, e->incident, e->rule, e->tid, &ended,
					   clock_ns(CLOCK_REALTIME) - now_ns(), &err);

		if (code && code != -ENOENT)
			log_error("%s", err.msg);
		e->of.rule_id = 0;
	}
}

void followed_log__free(struct followed_log *h)
{
	if (!h)
		return;
	detectors__on_ended(h->detectors, NULL, NULL);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
