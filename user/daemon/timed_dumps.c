// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "daemon/daemon_core.h"
#include "rules/units.h"

/* Limits of the interval between checks of the bytes written; it depends on the last rate. */
#define LOOK_MIN  (10 * NSEC_PER_MSEC)
#define LOOK_MAX  NSEC_PER_SEC
#define BUSY_WAIT (100 * NSEC_PER_MSEC) /* while dumps are written */

/* The incident's reason, by which retention finds these dumps. */
static void format_reason(const struct session *s, char *ret, size_t size)
{
	snprintf(ret, size, "--switch-output of session %s", s->name);
}

/*
 * Time, ns, until the next check: half of what writing @bytes more will take, since the rate may
 * change.
 */
static uint64_t next_size_check(const struct timed_dump *t, uint64_t now, uint64_t written,
				uint64_t bytes)
{
	uint64_t since = now - t->looked, more = written - t->seen, wait;

	if (!t->looked || !more)
		return LOOK_MAX / 10;
	wait = (unsigned __int128)bytes * since / more / 2;
	return wait < LOOK_MIN ? LOOK_MIN : wait > LOOK_MAX ? LOOK_MAX : wait;
}

/* Has SIZE been written since the last dump? *ret_wait: ns until the next check. */
static bool dump_size_is_reached(struct timed_dump *t, const struct session *s, uint64_t now,
				 uint64_t *ret_wait)
{
	uint64_t written = session__written(s), size = s->output.every_bytes;
	uint64_t more = written - t->written;

	*ret_wait = next_size_check(t, now, written, more < size ? size - more : size);
	t->looked = now;
	t->seen = written;
	return more >= size;
}

static bool dump_time_is_reached(struct timed_dump *t, const struct session *s, uint64_t now,
				 uint64_t *ret_wait)
{
	uint64_t every = s->output.every_ns;
	if (!t->due)
		t->due = s->started + every;
	*ret_wait = now < t->due ? t->due - now : every;
	return now >= t->due;
}

/* Dump a session. If several due times were missed, it is dumped once. */
static void dump_timed_session(struct recorder *r, const struct active_set *g, size_t i,
			       uint64_t now)
{
	const struct session *s = g->dumpers[i]->session;
	struct timed_dump *t = &g->dumpers[i]->timed;
	char reason[INCIDENT_REASON_MAX];

	t->written = session__written(s);
	if (s->output.every_ns)
		t->due += s->output.every_ns * ((now - t->due) / s->output.every_ns + 1);
	format_reason(s, reason, sizeof(reason));
	if (recorder__dump(r, 1ULL << i, reason) < 0)
		log_warn("session '%s': too many dumps are in progress: a dump of --switch-output "
			 "is "
			 "skipped",
			 s->name);
}

uint64_t timed_dumps__step(struct recorder *r)
{
	const struct active_set *g = recorder__active_set(r);
	uint64_t next = UINT64_MAX, now = now_ns(), wait;
	struct recorder_stats stats;

	for (size_t i = 0; i < g->n_dumpers; i++) {
		struct dumper *d = g->dumpers[i];
		const struct record_output *o = &d->session->output;
		bool due;

		if (!o->every_ns && !o->every_bytes)
			continue;
		due = o->every_ns ? dump_time_is_reached(&d->timed, d->session, now, &wait)
				  : dump_size_is_reached(&d->timed, d->session, now, &wait);
		if (due)
			recorder__stats(r, &stats);
		/* wait: while a dump is written, the freeze of the next one would come too late */
		if (due && stats.writing)
			wait = BUSY_WAIT;
		else if (due)
			dump_timed_session(r, g, i, now);
		next = wait < next ? wait : next;
	}
	return next;
}

void timed_dumps__limits(const struct active_set *g, struct retention_limits *ret)
{
	for (size_t i = 0; i < g->n_dumpers && ret->n_quotas < RETENTION_QUOTAS_MAX; i++) {
		const struct session *s = g->dumpers[i]->session;
		struct retention_quota *q = &ret->quotas[ret->n_quotas];

		if (!s->output.max_files)
			continue;
		q->of_session = !s->output.every_ns && !s->output.every_bytes;
		if (q->of_session)
			snprintf(q->reason, sizeof(q->reason), "%s", s->name);
		else
			format_reason(s, q->reason, sizeof(q->reason));
		q->max = s->output.max_files;
		ret->n_quotas++;
	}
}
