// SPDX-License-Identifier: GPL-2.0-only
/* Makes a session follow CPUs that come and go. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "admin/admin.h"
#include "common/array.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/cpus.h"
#include "perfdata/record.h"
#include "record/session_core.h"
#include "rules/units.h"

#define ALIASES_OF_EVENT                                                                           \
	16 /* aliases kept per event and CPU; beyond that, the oldest are dropped */

/*
 * Is the CPU recorded? This interrupts the CPU. *ret_until: when it went offline. Call with the
 * lock held.
 */
static bool is_recorded(const struct session_cpu *c, uint64_t *ret_until)
{
	uint64_t enabled;

	if (cpu_pulse__is_alive(c->pulse, &enabled))
		return true;
	*ret_until = c->opened + enabled;
	return false;
}

void session_cpu__note_away(struct session_cpu *c, uint64_t from, uint64_t to)
{
	if (c->n_away == SESSION_AWAY_MAX) {
		c->away[0].to = c->away[1].to;
		memmove(&c->away[1], &c->away[2], (--c->n_away - 1) * sizeof(c->away[0]));
	}
	c->away[c->n_away].from = from;
	c->away[c->n_away++].to = to;
}

static uint64_t overlap_ns(uint64_t from, uint64_t to, uint64_t a, uint64_t b)
{
	from = from > a ? from : a;
	to = to < b ? to : b;
	return from < to ? to - from : 0;
}

uint64_t session__away(struct session *s, size_t c, uint64_t from, uint64_t to)
{
	const struct session_cpu *cpu = &s->cpus[c];
	uint64_t sum = 0, until;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < cpu->n_away; i++)
		sum += overlap_ns(cpu->away[i].from, cpu->away[i].to, from, to);
	if (s->off_since)
		sum += overlap_ns(s->off_since, UINT64_MAX, from, to);
	else if (s->target.kind != RECORD_TASKS && /* events of threads outlive an offline CPU */
		 !is_recorded(cpu, &until))
		sum += overlap_ns(until, UINT64_MAX, from, to);
	pthread_mutex_unlock(&s->lock);
	return sum;
}

/* New events of a CPU, not in use yet. */
struct reopened {
	int *fds; /* owned */
	int pulse;
	uint64_t opened;
	struct session_alias *aliases; /* owned */
	size_t n, n_aliases;
};

static void reopened__free(struct reopened *r)
{
	session_cpu__close_events(r->fds, r->n, r->pulse);
	free(r->aliases);
}

static int reopen_session_event(struct session *s, size_t e, const struct session_cpu *c,
				struct reopened *r, struct err *err)
{
	struct event ev = s->events->v[e]; /* attributes that the kernel accepted before */

	ev.precise_max = ev.cycles_fallback = false;
	r->fds[e] = event__open_for(&ev, &s->target, 0, c->cpu,
				    ev.leader == e ? -1 : r->fds[ev.leader], err, NULL);
	if (r->fds[e] < 0)
		return r->fds[e];
	r->aliases[e].stands_for =
		s->ids[e * s->n_id_cpus + ((size_t)(c - s->cpus) < s->n_id_cpus ? c - s->cpus : 0)];
	return session_cpu__send(c, r->fds[e], ev.name, &r->aliases[e].id, err);
}

/* Have the pulse record what names addresses. The CPU's anchor did that until it died. */
static int send_tracking(struct session *s, const struct session_cpu *c, struct reopened *r,
			 struct err *err)
{
	struct session_alias *a = &r->aliases[r->n];

	a->stands_for = s->cpus[0].anchor_id;
	return session_cpu__send(c, r->pulse, "dummy", &a->id, err);
}

static int reopen_events(struct session *s, const struct session_cpu *c, struct reopened *r,
			 struct err *err)
{
	int code = 0;

	*r = (struct reopened){ .n = s->events->n, .pulse = -1, .opened = now_ns() };
	r->n_aliases = r->n + s->plain;
	r->fds = calloc(r->n ?: 1, sizeof(*r->fds));
	r->aliases = calloc(r->n_aliases ?: 1, sizeof(*r->aliases));
	if (!r->fds || !r->aliases)
		code = err_set(err, -ENOMEM, "out of memory");
	for (size_t e = 0; r->fds && e < r->n; e++)
		r->fds[e] = -1;
	if (!code) {
		r->pulse = s->plain ? session_plain__open_anchor(s, c->cpu)
				    : admin__open_event(&cpu_pulse_attr, -1, c->cpu, 0);
		code = r->pulse < 0 ? r->pulse : 0;
	}
	if (code && !err->msg[0])
		err_set(err, code, "CPU %d: %s", c->cpu, strerror(-code));
	for (size_t e = 0; code >= 0 && e < r->n; e++)
		code = reopen_session_event(s, e, c, r, err);
	if (code >= 0 && s->plain)
		code = send_tracking(s, c, r, err);
	if (code < 0)
		reopened__free(r);
	return code < 0 ? code : 0;
}

static int compare_aliases(const void *key, const void *entry)
{
	uint64_t id = *(const uint64_t *)key, other = ((const struct session_alias *)entry)->id;

	return (id > other) - (id < other);
}

/*
 * Add aliases, which stay sorted by id. If full, drop the oldest: the kernel's ids ascend. Call
 * with the lock held.
 */
static int add_aliases(struct session *s, const struct reopened *r)
{
	size_t n = r->n_aliases, most = ALIASES_OF_EVENT * n * s->max_cpus;

	if (s->n_aliases + n > most) {
		memmove(s->aliases, s->aliases + n, (s->n_aliases - n) * sizeof(*s->aliases));
		s->n_aliases -= n;
	}
	for (size_t i = 0; i < n; i++) {
		if (!ARRAY_HAS_ROOM(s->aliases, s->n_aliases, s->cap_aliases, 64))
			return -ENOMEM;
		s->aliases[s->n_aliases++] = r->aliases[i];
	}
	qsort(s->aliases, s->n_aliases, sizeof(*s->aliases), compare_aliases);
	return 0;
}

/* Replace the events of a CPU that was not recorded since @gone, ns, by those of @r. Frees @r. */
static int take_over_spare(struct session *s, struct session_cpu *c, struct reopened *r,
			   uint64_t gone, struct err *err)
{
	int code;

	pthread_mutex_lock(&s->lock);
	code = add_aliases(s, r);
	for (size_t e = 0; !code && e < r->n; e++) {
		if (r->fds[e] >= 0 && !(s->off && s->off[e % s->events->n]) &&
		    ioctl(r->fds[e], PERF_EVENT_IOC_ENABLE, 0) < 0)
			code = -errno;
	}
	if (!code) {
		session_cpu__note_away(c, gone, now_ns());
		session_cpu__close_events(c->fds, r->n, c->pulse != c->anchor ? c->pulse : -1);
		c->fds = TAKE_PTR(r->fds);
		c->pulse = r->pulse;
		c->opened = r->opened;
		r->pulse = -1;
	}
	pthread_mutex_unlock(&s->lock);
	reopened__free(r);
	if (code)
		return err_set(err, code, "CPU %d: %s", c->cpu, strerror(-code));
	if (s->reopened)
		s->reopened(s, c - s->cpus, s->reopened_arg);
	return 0;
}

static int reopen_cpu(struct session *s, struct session_cpu *c, uint64_t gone, struct err *err)
{
	struct reopened r;
	int code = reopen_events(s, c, &r, err);

	return code ?: take_over_spare(s, c, &r, gone, err);
}

/* ---- events of threads on CPUs that were offline ---- */

static int open_spare(struct session *s, const struct record_target *target, struct session_cpu *c)
{
	struct err ignored;
	size_t n = s->events->n;

	c->fds = calloc(n * s->n_targets ?: 1, sizeof(*c->fds));
	if (!c->fds)
		return -ENOMEM;
	for (size_t i = 0; i < n * s->n_targets; i++)
		c->fds[i] = -1;
	for (size_t i = 0; i < n * s->n_targets; i++) {
		/* attributes that the kernel accepted before */
		struct event ev = s->events->v[i % n];

		if (ev.off_cpu) /* opened when the CPU is there */
			continue;

		ev.precise_max = ev.cycles_fallback = false;
		c->fds[i] = event__open_for(&ev, target, i / n, c->cpu,
					    ev.leader == i % n ? -1 : c->fds[i / n * n + ev.leader],
					    &ignored, NULL);
		if (c->fds[i] < 0)
			return c->fds[i];
	}
	return 0;
}

static void close_spare(struct session *s, struct session_cpu *c)
{
	session_cpu__close_events(TAKE_PTR(c->fds), s->events->n * s->n_targets, -1);
}

void session__open_spares(struct session *s, const struct record_target *target)
{
	_cleanup_free_ int *cpus = NULL;
	size_t n;

	if (target->kind != RECORD_TASKS || target->n_cpus || cpus__present(&cpus, &n))
		return;
	s->spare = calloc(n, sizeof(*s->spare));
	for (size_t i = 0; s->spare && i < n; i++) {
		struct session_cpu *c = &s->spare[s->n_spare];
		size_t k = 0;

		while (k < s->n_cpus && s->cpus[k].cpu != cpus[i])
			k++;
		if (k < s->n_cpus)
			continue;
		*c = (struct session_cpu){ .cpu = cpus[i], .anchor = -1, .pulse = -1 };
		if (open_spare(s, target, c))
			close_spare(s, c);
		else
			s->n_spare++;
	}
}

void session__close_spares(struct session *s)
{
	for (size_t i = 0; i < s->n_spare; i++)
		close_spare(s, &s->spare[i]);
	free(s->spare);
	s->spare = NULL;
	s->n_spare = 0;
}

static struct session_cpu *find_spare(struct session *s, int cpu)
{
	for (size_t i = 0; i < s->n_spare; i++) {
		if (s->spare[i].cpu == cpu && s->spare[i].fds)
			return &s->spare[i];
	}
	return NULL;
}

/* Redirect the spare events into the ring of @c and enable them. */
static int take_spare(struct session *s, struct session_cpu *spare, struct session_cpu *c,
		      struct err *err)
{
	struct reopened r = { .n = s->events->n * s->n_targets, .pulse = -1, .opened = c->opened };
	int code = 0;

	r.n_aliases = r.n + s->plain;
	r.aliases = calloc(r.n_aliases ?: 1, sizeof(*r.aliases));
	if (s->plain && r.aliases)
		r.aliases[r.n] = (struct session_alias){ c->anchor_id, s->cpus[0].anchor_id };
	if (!r.aliases)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !code && i < r.n; i++) {
		size_t e = i % s->events->n, t = i / s->events->n;

		if (s->events->v[e].off_cpu && t)
			continue;
		if (s->events->v[e].off_cpu)
			spare->fds[i] = event__open_for(&s->events->v[e], &s->target, 0, c->cpu, -1,
							err, NULL);
		if (spare->fds[i] < 0) {
			code = spare->fds[i];
			continue;
		}
		r.aliases[i].stands_for = s->ids[(e * s->n_targets + t) * s->n_id_cpus];
		code = session_cpu__send(c, spare->fds[i], s->events->v[e].name, &r.aliases[i].id,
					 err);
	}
	if (code) {
		free(r.aliases);
		return code;
	}
	r.fds = TAKE_PTR(spare->fds);
	code = take_over_spare(s, c, &r, s->started, err);
	c->pulse = c->anchor;
	return code;
}

/* ---- */

static int check_ring_room(const struct session *s, uint64_t max, struct err *err)
{
	uint64_t own = session__memory(s->cpus[0].ring.size, 1, s->plain),
		 all = session__memory_of_all();
	char own_text[16], all_text[16], max_text[16];

	if (all + own <= max)
		return 0;
	return err_set(
		err, -ENOSPC,
		"its ring and the copy of it need %s, and the sessions already use %s of the %s "
		"that max-memory leaves them: raise max-memory in [daemon], or use a smaller -m",
		units__format_size(own, own_text, sizeof(own_text)),
		units__format_size(all, all_text, sizeof(all_text)),
		units__format_size(max, max_text, sizeof(max_text)));
}

/* Add a CPU that was never online while the session recorded. */
static int add_session_cpu(struct session *s, int cpu, uint64_t max, struct err *err)
{
	struct session_cpu *c = &s->cpus[s->n_cpus], *spare = find_spare(s, cpu);
	size_t ring_bytes = s->cpus[0].ring.size;
	int code = check_ring_room(s, max, err);

	if (code)
		return err_prefix(err, code, "CPU %d is not recorded: ", cpu);
	*c = (struct session_cpu){ .cpu = cpu, .anchor = -1, .pulse = -1, .ring.fd = -1 };
	code = session_cpu__open_ring(s, c, ring_bytes, err);
	if (!code && s->copy_bytes == s->n_cpus * ring_bytes)
		code = session__add_copies(s, 1, ring_bytes, err);
	else if (!code && !s->plain) /* an earlier attempt has added the memory for its copy */
		c->copy = s->copy_area + s->n_cpus * ring_bytes;
	code = code ?: spare ? take_spare(s, spare, c, err) : reopen_cpu(s, c, s->started, err);
	if (code)
		session_cpu__close(c, s->events->n);
	else
		atomic_fetch_add(&s->n_cpus, 1);
	return code;
}

static int follow_session_cpu(struct session *s, int cpu, uint64_t max, struct err *err)
{
	uint64_t gone;
	bool recorded;
	int code;

	for (size_t c = 0; c < s->n_cpus; c++) {
		if (s->cpus[c].cpu != cpu)
			continue;
		if (s->target.kind == RECORD_TASKS) /* events of threads outlive an offline CPU */
			return 0;
		pthread_mutex_lock(&s->lock);
		recorded = is_recorded(&s->cpus[c], &gone);
		pthread_mutex_unlock(&s->lock);
		if (recorded)
			return 0;
		code = reopen_cpu(s, &s->cpus[c], gone, err);
		return code ?: 1;
	}
	if (s->n_cpus == s->max_cpus || s->target.n_cpus) /* with -C, no other CPU */
		return 0;
	if (s->target.kind == RECORD_TASKS && !find_spare(s, cpu))
		return err_set(
			err, -ESRCH,
			"CPU %d is not recorded: it was not there when the threads' events were "
			"opened",
			cpu);
	code = add_session_cpu(s, cpu, max, err);
	return code ?: 1;
}

static void note_missing_cpu(struct session *s, const struct err *err, bool lacks)
{
	bool own = !s->notice[0] || s->lacks_cpu;

	if (lacks && own)
		snprintf(s->notice, sizeof(s->notice), "%.*s", (int)sizeof(s->notice) - 1,
			 err->msg);
	else if (s->lacks_cpu)
		s->notice[0] = '\0';
	s->lacks_cpu = lacks && own;
}

int session__follow_cpus(struct session *s, const int *online, size_t n, uint64_t max,
			 struct err *err)
{
	int count = 0, failed = 0;

	for (size_t i = 0; i < n; i++) {
		int code = follow_session_cpu(s, online[i], max, err);

		if (code < 0 && code != -ENODEV) /* -ENODEV: offline again */
			failed = code;
		else if (code > 0)
			count++;
	}
	note_missing_cpu(s, err, failed);
	return failed ? err_prefix(err, failed, "session '%s': ", s->name) : count;
}

void session__rename(struct session *s, const struct perf_event_header **v, size_t n)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; s->n_aliases && i < n; i++) {
		uint64_t id = record__id(v[i]);
		const struct session_alias *a =
			bsearch(&id, s->aliases, s->n_aliases, sizeof(*a), compare_aliases);

		if (a)
			record__set_id((struct perf_event_header *)v[i], a->stands_for);
	}
	pthread_mutex_unlock(&s->lock);
}
