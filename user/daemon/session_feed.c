// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "daemon/session_feed.h"
#include "perfdata/marker.h"

size_t session_feed__wanted(const struct event_list *events)
{
	enum marker_kind kind;
	size_t n = 0;

	for (size_t e = 0; events && e < events->n; e++)
		n += marker__is_fed(&events->v[e].attr, events->v[e].name, &kind);
	return n;
}

/* The first event that is written to; events->n: none. *ret_kind: what is written. */
static size_t find_fed(const struct event_list *events, enum marker_kind *ret_kind)
{
	size_t e = 0;

	while (e < events->n && !marker__is_fed(&events->v[e].attr, events->v[e].name, ret_kind))
		e++;
	return e;
}

static void send_cpu(const struct session *s, size_t c, void *arg)
{
	const struct session_cpu *cpu = &s->cpus[c];
	enum marker_kind kind;
	int r = feed__send(arg, cpu->cpu, cpu->fds[find_fed(s->events, &kind)]);

	if (r)
		log_warn("session '%s': locks are not recorded on CPU %d: %s", s->name, cpu->cpu,
			 strerror(-r));
}

static void note_failure(struct session *s, const struct err *err)
{
	log_warn("session '%s': who has a lock is not recorded: %s", s->name, err->msg);
	if (!s->notice[0])
		snprintf(s->notice, sizeof(s->notice), "who has a lock is not recorded: %.100s",
			 err->msg);
}

void session_feed__open(struct session *s, struct feed **ret)
{
	struct err err = { 0 };
	enum marker_kind kind;
	size_t e = find_fed(s->events, &kind);
	struct feed *f;

	/* a program cannot write into the event of a task */
	if (e == s->events->n || s->target.kind != RECORD_ALL)
		return;
	if (feed__open(marker__attr(kind)->config, &err, &f)) {
		note_failure(s, &err);
		return;
	}
	s->reopened = send_cpu;
	s->reopened_arg = f;
	for (size_t c = 0; c < s->n_cpus; c++)
		send_cpu(s, c, f);
	if (feed__attach(f, &err)) {
		s->reopened = NULL;
		feed__free(f);
		note_failure(s, &err);
		return;
	}
	if (*feed__lacking(f))
		log_info("session '%s': this kernel lacks %s: waits for some locks are not "
			 "recorded",
			 s->name, feed__lacking(f));
	*ret = f;
}
