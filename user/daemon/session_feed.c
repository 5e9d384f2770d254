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

static const struct {
	enum feed_kind feed;
	const char *what;
} fed_kinds[MARKER_KINDS] = {
	[MARKER_LOCK_WAIT] = { FEED_LOCK_WAIT, "who has a lock" },
	[MARKER_INTERRUPT] = { FEED_INTERRUPT, "what interrupts took" },
};

static void send_cpu(const struct session *s, size_t c, void *arg)
{
	const struct session_cpu *cpu = &s->cpus[c];
	enum marker_kind kind;
	int err;

	for (size_t e = 0; e < s->events->n; e++) {
		if (!marker__is_fed(&s->events->v[e].attr, s->events->v[e].name, &kind))
			continue;
		err = feed__send(arg, fed_kinds[kind].feed, cpu->cpu, cpu->fds[e]);
		if (err)
			log_warn("session '%s': %s is not recorded on CPU %d: %s", s->name,
				 fed_kinds[kind].what, cpu->cpu, strerror(-err));
	}
}

static void note_failure(struct session *s, const char *what, const char *why)
{
	log_warn("session '%s': %s is not recorded: %s", s->name, what, why);
	if (!s->notice[0])
		snprintf(s->notice, sizeof(s->notice), "%s is not recorded: %.100s", what, why);
}

/* Load what the events of @s want. Returns how many kinds are loaded. */
static size_t load_kinds(struct session *s, struct feed *f)
{
	bool seen[MARKER_KINDS] = { false };
	struct err err = { 0 };
	enum marker_kind kind;
	size_t n = 0;

	for (size_t e = 0; e < s->events->n; e++) {
		if (!marker__is_fed(&s->events->v[e].attr, s->events->v[e].name, &kind) ||
		    seen[kind])
			continue;
		seen[kind] = true;
		if (feed__load(f, fed_kinds[kind].feed, marker__attr(kind)->config, &err))
			note_failure(s, fed_kinds[kind].what, err.msg);
		else
			n++;
	}
	return n;
}

void session_feed__open(struct session *s, struct feed **ret)
{
	struct err err = { 0 };
	struct feed *f;

	/* a program cannot write into the event of a task */
	if (!session_feed__wanted(s->events) || s->target.kind != RECORD_ALL)
		return;
	if (feed__new(&f)) {
		note_failure(s, "what BPF programs write", "out of memory");
		return;
	}
	if (!load_kinds(s, f)) {
		feed__free(f);
		return;
	}
	s->reopened = send_cpu;
	s->reopened_arg = f;
	for (size_t c = 0; c < s->n_cpus; c++)
		send_cpu(s, c, f);
	if (feed__attach(f, &err)) {
		s->reopened = NULL;
		feed__free(f);
		note_failure(s, "what BPF programs write", err.msg);
		return;
	}
	if (*feed__lacking(f))
		log_info("session '%s': this kernel lacks %s: some waits for locks, or "
			 "interrupts, are not recorded",
			 s->name, feed__lacking(f));
	*ret = f;
}
