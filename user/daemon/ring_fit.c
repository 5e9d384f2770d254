// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "daemon/ring_fit.h"
#include "rules/units.h"

#define FIRST_LOOK (2 * NSEC_PER_SEC)
#define NEXT_LOOK  (60 * NSEC_PER_SEC)
#define RING_MAX   (1ULL << 40)

/* State of a session with `ring`, by its name. */
struct fit {
	char name[RULESET_NAME_MAX + 1];
	uint64_t started;    /* start time of the session that was measured last */
	uint64_t looked;     /* ns: time of that measurement */
	uint64_t resized;    /* ns: when a successor took over; 0: never */
	uint64_t written;    /* bytes written by the time `looked`, on the busiest CPU */
	size_t least;	     /* bytes: the initial size */
	struct dumper *next; /* the successor; NULL: none */
	uint64_t takes_over; /* ns: when the successor will be ready */
	bool ready;
};

struct ring_fit {
	struct fit v[INCIDENT_SESSIONS_MAX];
	size_t n;
};

struct ring_fit *ring_fit__new(void)
{
	return calloc(1, sizeof(struct ring_fit));
}

size_t ring_fit__size(uint64_t rate, uint64_t ns, size_t least)
{
	unsigned __int128 bytes = (unsigned __int128)rate * ns / NSEC_PER_SEC * 5 / 4;
	size_t size = least;

	while (size < bytes && size < RING_MAX)
		size *= 2;
	return size;
}

size_t ring_fit__within(size_t want, size_t least, size_t n_cpus, uint64_t others, uint64_t max)
{
	while (want > least && others + session__memory(want, n_cpus, false) > max)
		want /= 2;
	return others + session__memory(want, n_cpus, false) > max ? 0 : want;
}

static struct fit *find_fit(struct ring_fit *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++) {
		if (strcmp(f->v[i].name, name) == 0)
			return &f->v[i];
	}
	return NULL;
}

static void drop_successor(struct fit *fit)
{
	dumper__unref(fit->next);
	fit->next = NULL;
	fit->ready = false;
}

static struct fit *get_fit(struct ring_fit *f, const struct session *s)
{
	struct fit *fit = find_fit(f, s->name);

	if (!fit && f->n < INCIDENT_SESSIONS_MAX) {
		fit = &f->v[f->n++];
		*fit = (struct fit){ .least = s->cpus[0].ring.size };
		snprintf(fit->name, sizeof(fit->name), "%s", s->name);
	}
	if (fit && fit->started != s->started) {
		drop_successor(fit);
		fit->started = fit->looked = s->started;
		fit->written = 0;
	}
	return fit;
}

/* Drop sessions that are gone or have no `ring` any more. */
static void forget_fits(struct ring_fit *f, const struct active_set *g)
{
	for (size_t i = 0; i < f->n;) {
		int s = active_set__find_session(g, f->v[i].name);

		if (s >= 0 && g->rules->sessions[s].ring) {
			i++;
			continue;
		}
		drop_successor(&f->v[i]);
		f->v[i] = f->v[--f->n];
	}
}

static uint64_t written_at_most(const struct session *s)
{
	uint64_t most = 0;

	for (size_t c = 0; c < s->n_cpus; c++) {
		uint64_t bytes = -ring__head(&s->cpus[c].ring);

		most = bytes > most ? bytes : most;
	}
	return most;
}

/* Bytes per second on the busiest CPU since the last look. */
static uint64_t measure_rate(struct fit *fit, const struct session *s, uint64_t now)
{
	uint64_t written = written_at_most(s), bytes = written - fit->written;
	uint64_t ns = now - fit->looked;

	fit->written = written;
	fit->looked = now;
	return (unsigned __int128)bytes * NSEC_PER_SEC / (ns ?: 1);
}

/* Log, and note for status, that max-memory has no room for the rings. */
static void note_no_ring_room(struct session *s, const struct session_conf *conf,
			      const struct active_set *g, size_t want, size_t got)
{
	char t[32], own[16], rest[16], max[16], size[16], notice[sizeof(s->notice)];

	snprintf(notice, sizeof(notice),
		 "ring = %s needs %s while the %s in use are still mapped, more than max-memory "
		 "(%s): rings of %s hold less; raise max-memory in [daemon]",
		 units__format_duration(conf->ring, t, sizeof(t)),
		 units__format_size(session__memory(want, s->n_cpus, false), own, sizeof(own)),
		 units__format_size(dumper__memory_of_all(), rest, sizeof(rest)),
		 units__format_size(g->max_memory, max, sizeof(max)),
		 units__format_size(got, size, sizeof(size)));
	if (strcmp(notice, s->notice) == 0)
		return; /* it was logged at an earlier look */
	strcpy(s->notice, notice);
	log_warn("session '%s': %s", s->name, notice);
}

/* A resize of one session. */
struct change {
	const struct active_set *g;
	size_t i; /* index of the session */
	size_t now, want;
};

static void start_successor(struct fit *fit, const struct change *c, ring_fit_start_fn start,
			    void *arg)
{
	const struct session *s = c->g->dumpers[c->i]->session;
	uint64_t now = now_ns(), age = now - s->started, wrap;
	char from[16], to[16];
	struct err err = { 0 };

	/*
	 * the time that the old rings hold, at most their age: after it, the successor holds as
	 * much
	 */
	wrap = fit->written ? (unsigned __int128)age * c->now / fit->written : age;
	units__format_size(c->now, from, sizeof(from));
	units__format_size(c->want, to, sizeof(to));
	if (start(arg, c->i, c->want, &err, &fit->next)) {
		fit->next = NULL;
		log_error("session '%s': rings stay at %s: resizing to %s failed: %s", s->name,
			  from, to, err.msg);
		return;
	}
	fit->takes_over = now + (wrap < age ? wrap : age);
	log_info("session '%s': rings change from %s to %s", s->name, from, to);
}

static void fit_look(struct fit *fit, const struct active_set *g, size_t i, ring_fit_start_fn start,
		     void *arg)
{
	const struct session_conf *conf = &g->rules->sessions[i];
	struct session *s = g->dumpers[i]->session;
	bool first = fit->looked == s->started;
	struct change c = { .g = g, .i = i, .now = s->cpus[0].ring.size };
	size_t ideal = ring_fit__size(measure_rate(fit, s, now_ns()), conf->ring, fit->least);

	if (ideal == c.now || (ideal < c.now && (first || ideal > c.now / 4)))
		return;
	/* old and new rings both exist until the successor takes over */
	c.want = ring_fit__within(ideal, fit->least, s->n_cpus, dumper__memory_of_all(),
				  g->max_memory);
	if (ideal > c.now && c.want <= c.now) {
		note_no_ring_room(s, conf, g, ideal, c.now);
		return;
	}
	if (!c.want) /* the rings should shrink, but there is no room for old and new ones */
		return;
	start_successor(fit, &c, start, arg);
	if (fit->next && c.want < ideal)
		note_no_ring_room(fit->next->session, conf, g, ideal, c.want);
}

static uint64_t fit_next_look(const struct fit *fit)
{
	if (fit->next)
		return fit->takes_over;
	if (fit->looked != fit->started)
		return fit->looked + NEXT_LOOK;
	return fit->resized ? fit->resized + NEXT_LOOK : fit->started + FIRST_LOOK;
}

bool ring_fit__step(struct ring_fit *f, const struct active_set *g, ring_fit_start_fn start,
		    void *arg, uint64_t *ret_wait)
{
	uint64_t next = UINT64_MAX, now = now_ns();
	bool ready = false;

	forget_fits(f, g);
	for (size_t i = 0; i < g->n_dumpers; i++) {
		const struct session *s = g->dumpers[i]->session;
		struct fit *fit;

		if (!g->rules->sessions[i].ring || !s->n_cpus || !(fit = get_fit(f, s)))
			continue;
		if (!fit->next && now >= fit_next_look(fit))
			fit_look(fit, g, i, start, arg);
		if (fit->next && now >= fit->takes_over)
			fit->ready = ready = true;
		else if (fit_next_look(fit) < next)
			next = fit_next_look(fit);
	}
	now = now_ns();
	*ret_wait = next == UINT64_MAX ? next : next > now ? next - now : 0;
	return ready;
}

struct dumper *ring_fit__take(struct ring_fit *f, const char *name, const char *run)
{
	struct fit *fit = find_fit(f, name);
	struct dumper *d;

	if (!fit || !fit->ready || strcmp(fit->next->session->run, run) != 0)
		return NULL;
	d = fit->next;
	fit->next = NULL;
	fit->ready = false;
	fit->resized = now_ns();
	return d;
}

bool ring_fit__has_successor(const struct ring_fit *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++) {
		if (strcmp(f->v[i].name, name) == 0)
			return f->v[i].next;
	}
	return false;
}

void ring_fit__free(struct ring_fit *f)
{
	for (size_t i = 0; f && i < f->n; i++)
		drop_successor(&f->v[i]);
	free(f);
}
