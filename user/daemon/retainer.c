// SPDX-License-Identifier: GPL-2.0-only
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/realtime.h"
#include "daemon/confine.h"
#include "daemon/incident_pool.h"
#include "daemon/retainer.h"
#include "dump/base/base_clock.h"
#include "rules/units.h"

#define SOON NSEC_PER_SEC

struct retainer {
	const struct base_dir *base;
	struct recorder *recorder;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	struct retention_limits limits;
	struct retainer_stats stats;
	bool wanted, stop;
	uint64_t next; /* CLOCK_MONOTONIC, ns: the next run; UINT64_MAX: only when notified */
};

/* Wait until a run is due. False: the thread should end. Under the lock. */
static bool wait_for_retention(struct retainer *t)
{
	while (!t->wanted && !t->stop && now_ns() < t->next) {
		struct timespec until = { t->next / NSEC_PER_SEC, t->next % NSEC_PER_SEC };

		if (t->next == UINT64_MAX)
			pthread_cond_wait(&t->wake, &t->lock);
		else
			pthread_cond_timedwait(&t->wake, &t->lock, &until);
	}
	return t->wanted || !t->stop;
}

static void retainer_look(struct retainer *t, const struct retention_limits *limits,
			  struct retention_report *ret)
{
	char busy[INCIDENT_POOL_SIZE][INCIDENT_NAME_SIZE];
	size_t n_busy = recorder__written_names(t->recorder, busy);
	int err = retention__apply(t->base, limits, clock_ns(CLOCK_REALTIME), busy, n_busy, ret);
	struct err why = { 0 };
	char size[16];

	if (base_clock__save(t->base, &why))
		log_error("max-age is not applied this time: %s", why.msg);
	if (err)
		log_error("%s: cannot remove old incidents: %s", t->base->path, strerror(-err));
	if (ret->failed)
		log_error("%s: %llu files of old incidents cannot be removed: %s", t->base->path,
			  (unsigned long long)ret->failed, strerror(-ret->error));
	if (ret->removed_incidents)
		log_info("removed %llu old incidents, %s",
			 (unsigned long long)ret->removed_incidents,
			 units__format_size(ret->removed_bytes, size, sizeof(size)));
}

/* Time of the next run without a notification. */
static uint64_t retainer_next_look(const struct retention_report *report)
{
	if (report->waiting)
		return now_ns() + SOON;
	if (!report->next)
		return UINT64_MAX;
	return now_ns() + report->next + SOON;
}

static void *retainer_thread(void *arg)
{
	struct retainer *t = arg;

	pthread_setname_np(pthread_self(), "frbpf-retain");
	confine__writer();
	thread__set_class(THREAD_BACKGROUND, 0);
	pthread_mutex_lock(&t->lock);
	while (wait_for_retention(t)) {
		struct retention_limits limits = t->limits;
		struct retention_report report = { 0 };

		t->wanted = false;
		pthread_mutex_unlock(&t->lock);
		retainer_look(t, &limits, &report);
		pthread_mutex_lock(&t->lock);
		t->stats.incidents = report.incidents;
		t->stats.bytes = report.bytes;
		t->stats.removed += report.removed_incidents;
		t->stats.removed_bytes += report.removed_bytes;
		t->stats.failed += report.failed;
		t->next = retainer_next_look(&report);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

int retainer__start(const struct base_dir *base, struct recorder *r, struct err *err,
		    struct retainer **ret)
{
	struct retainer *t = calloc(1, sizeof(*t));
	pthread_condattr_t attr;
	int code;

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->base = base;
	t->recorder = r;
	t->next = UINT64_MAX;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attr);
	pthread_condattr_destroy(&attr);
	code = -pthread_create(&t->thread, NULL, retainer_thread, t);
	if (code) {
		free(t);
		return err_set(err, code, "cannot start a thread: %s", strerror(-code));
	}
	*ret = t;
	return 0;
}

void retainer__notify(struct retainer *t, const struct retention_limits *limits)
{
	pthread_mutex_lock(&t->lock);
	t->limits = *limits;
	t->wanted = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

void retainer__stats(struct retainer *t, struct retainer_stats *ret)
{
	pthread_mutex_lock(&t->lock);
	*ret = t->stats;
	pthread_mutex_unlock(&t->lock);
}

void retainer__free(struct retainer *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
