// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits on a tracepoint with the fields of its format. A private perf event with a kernel filter
 * passes all hits that its rules may match. What the filter cannot express is tested on the sample,
 * which is then evaluated like any other event. While all of its rules cool down, the perf event is
 * paused, so matches in that time are neither seen nor counted.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/engine/source.h"
#include "detect/inject/event_ring.h"
#include "detect/inject/inject.h"
#include "detect/inject/listener.h"
#include "detect/tracepoint/fields_bind.h"
#include "detect/tracepoint/tracepoint_info.h"
#include "rules/units.h"

#define FLIPS_MAX 3		/* flips of the rules while one event is evaluated */
#define CPUS_MAX  8192		/* NR_CPUS of the largest kernels */
#define PAUSE_MIN NSEC_PER_MSEC /* a shorter pause is not worth it */

/* The events of one filter. */
struct tap {
	struct fields *owner;
	struct event_ring *ring;
	char *filter; /* owned */
	bool waits;   /* do not read yet: its predecessor is still being read */
	struct tap_times {
		uint64_t after; /* ns: earlier hits belong to the predecessor */
		uint64_t last;	/* ns: time of the latest hit that was read */
	} * times;		/* by CPU; owned */
	struct tap_fd {
		struct tap *tap;
		size_t i;
	} * fds;      /* of the listener; owned */
	size_t n_fds; /* how many were added to the listener */
};

/* The properties of a rule that decide whether its tracepoint may be paused. */
struct cooling_rule {
	uint32_t slot;
	uint64_t time; /* ns, of the cooldown; 0: every event must be seen */
};

/*
 * Used by the thread that updates and, under the lock of the listener, by the thread of the
 * listener. The updating thread removes descriptors before it changes what their callbacks use.
 */
struct fields {
	struct inject *inject;
	struct listener *listener;
	struct event_format *format;
	int states_fd;
	pid_t self;
	pid_t listener_tid;   /* in the initial pid namespace */
	int timer_fd;	      /* ends a pause */
	bool nobody;	      /* its events have no subject */
	pthread_mutex_t lock; /* for args, rules, tap, paused; nests inside that of the listener */
	struct tap *tap;      /* active; NULL: none yet */
	bool paused;
	/* the bank that a reload is about to replace: while it is in force, no pause begins */
	uint32_t leaving;
	struct tap *next; /* made when rules are written, used after the flip; NULL: keep the old */
	char *args[2][FRBPF_MAX_ARGS]; /* names by bank and slot; owned */
	struct cooling_rule *rules[2]; /* by bank; owned */
	uint32_t n_rules[2];
	__u64 *lost;
};

/* ---- from a sample to the rules ---- */

static void fill_event(struct fields *f, const struct event_sample *s, struct frbpf_event *e)
{
	uint32_t bank = inject__bank(f->inject);

	e->source = FRBPF_SOURCE_TRACEPOINT_FIELDS;
	e->bank = 1 + bank;
	e->time = s->time;
	e->cpu = s->cpu;
	pthread_mutex_lock(&f->lock);
	for (uint32_t i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (f->args[bank][i])
			fields_bind__value(f->format, f->args[bank][i], s->raw, s->size,
					   e->val[EVENT_SUBJECT][FRBPF_FIELD_ARG + i]);
	}
	pthread_mutex_unlock(&f->lock);
	if (f->nobody) {
		proc_subject__fill(e, EVENT_CURRENT, s->tid, false);
		return;
	}
	e->val[EVENT_SUBJECT][FRBPF_FIELD_PID][0] = s->pid;
	proc_subject__fill(e, EVENT_SUBJECT, s->tid, inject__wants(f->inject, FRBPF_FIELD_CGROUP));
	proc_subject__set_current(e);
}

static void on_sample(const struct event_sample *s, void *arg)
{
	struct tap *t = arg;
	int err = -EAGAIN;

	if (s->pid == (uint32_t)t->owner->self)
		return; /* never a subject, and evaluating it would cause more hits */
	if (s->cpu >= CPUS_MAX || s->time <= t->times[s->cpu].after)
		return;
	if (s->time > t->times[s->cpu].last) /* an interrupted hit is recorded late */
		t->times[s->cpu].last = s->time;
	for (int i = 0; i < FLIPS_MAX && err == -EAGAIN; i++) {
		struct frbpf_event e = { 0 };

		fill_event(t->owner, s, &e);
		err = inject__event(t->owner->inject, &e);
	}
}

static void tap__read(struct tap *t, size_t i)
{
	uint64_t lost = event_ring__read(t->ring, i, on_sample, t);

	if (lost)
		__atomic_add_fetch(t->owner->lost, lost, __ATOMIC_RELAXED);
}

/* ---- pauses ---- */

/* Time, ns, until the first of the rules may fire again; 0: one of them must see every event. */
static uint64_t pause_left(const struct fields *f, uint64_t now)
{
	uint32_t bank = inject__bank(f->inject);
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < f->n_rules[bank]; i++) {
		const struct cooling_rule *r = &f->rules[bank][i];
		struct frbpf_rule_state st;
		uint64_t end;

		if (!r->time || bpf_map_lookup_elem(f->states_fd, &r->slot, &st) || !st.last_fired)
			return 0;
		end = st.last_fired + r->time;
		if (end <= now)
			return 0;
		least = end - now < least ? end - now : least;
	}
	return least == UINT64_MAX ? 0 : least;
}

static void set_fields_timer(const struct fields *f, uint64_t ns)
{
	struct itimerspec t = { .it_value = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC } };

	timerfd_settime(f->timer_fd, 0, &t, NULL);
}

static void maybe_pause(struct fields *f)
{
	uint64_t left;

	pthread_mutex_lock(&f->lock);
	left = inject__bank(f->inject) == f->leaving ? 0 : pause_left(f, now_ns());
	if (left >= PAUSE_MIN && f->tap && !f->paused) {
		event_ring__enable(f->tap->ring, false);
		f->paused = true;
		set_fields_timer(f, left);
	}
	pthread_mutex_unlock(&f->lock);
}

static void end_pause(struct fields *f)
{
	pthread_mutex_lock(&f->lock);
	if (f->tap && f->paused)
		event_ring__enable(f->tap->ring, true);
	f->paused = false;
	pthread_mutex_unlock(&f->lock);
}

static void on_fields_timer(void *arg, uint32_t events)
{
	struct fields *f = arg;
	uint64_t n;

	if (read(f->timer_fd, &n, sizeof(n)) == sizeof(n))
		end_pause(f);
}

static void on_readable(void *arg, uint32_t events)
{
	struct tap_fd *fd = arg;

	if (__atomic_load_n(&fd->tap->waits, __ATOMIC_ACQUIRE))
		return;
	tap__read(fd->tap, fd->i);
	maybe_pause(fd->tap->owner);
}

/* ---- taps ---- */

static void tap__unsubscribe(struct tap *t)
{
	while (t->n_fds)
		listener__remove(t->owner->listener, event_ring__fd(t->ring, --t->n_fds));
}

static void tap__free(struct tap *t)
{
	if (!t)
		return;
	tap__unsubscribe(t);
	event_ring__close(t->ring);
	free(t->times);
	free(t->filter);
	free(t->fds);
	free(t);
}

/*
 * Exclude hits of the thread of the listener from @filter: reading one event must not cause the
 * next. Filters identify a thread by its number in the initial pid namespace; its name is not
 * unique.
 */
static char *filter_without_us(pid_t us, const char *filter)
{
	char *text;

	if (asprintf(&text, "common_pid != %d%s%s%s", us, *filter ? " && (" : "", filter,
		     *filter ? ")" : "") < 0)
		return NULL;
	return text;
}

/* Open a tap without listening to it yet. Takes over @filter. */
static int tap__open(struct fields *f, char *filter, struct tap **ret, struct err *err)
{
	struct tap *t = calloc(1, sizeof(*t));
	_cleanup_free_ char *text = NULL;
	int code;

	if (!t) {
		free(filter);
		return -ENOMEM;
	}
	*t = (struct tap){ .owner = f, .filter = filter };
	t->times = calloc(CPUS_MAX, sizeof(*t->times));
	text = filter_without_us(f->listener_tid, filter);
	code = text && t->times ? event_ring__open(f->format->id, text, &t->ring, err) : -ENOMEM;
	if (!code) {
		t->fds = calloc(event_ring__n(t->ring), sizeof(*t->fds));
		code = t->fds ? 0 : -ENOMEM;
	}
	if (code) {
		tap__free(t);
		return code;
	}
	*ret = t;
	return 0;
}

static int tap__listen(struct tap *t)
{
	int err = 0;

	for (size_t i = 0; i < event_ring__n(t->ring) && !err; i++) {
		t->fds[i] = (struct tap_fd){ t, i };
		err = listener__add(t->owner->listener, event_ring__fd(t->ring, i), EPOLLIN,
				    on_readable, &t->fds[i]);
		t->n_fds += !err;
	}
	return err;
}

/* ---- the source ---- */

static int fields_load(struct source *s, const struct source_env *env)
{
	struct fields *f = calloc(1, sizeof(*f));
	struct btf_trace *trace;
	int err;

	if (!f)
		return -ENOMEM;
	s->skel = f;
	pthread_mutex_init(&f->lock, NULL);
	f->timer_fd = -1;
	f->self = getpid();
	f->leaving = UINT32_MAX;
	f->listener = env->listener;
	f->states_fd = env->states_fd;
	err = event_format__read(s->target, &f->format, s->err);
	err = err ?: inject__load(s, env, &f->inject);
	if (err)
		return err;
	f->lost = (__u64 *)s->unmeasured;
	if (!btf_trace__find(tracepoint_info__name(s->target), &trace)) {
		f->nobody = tracepoint_info__subject(s->target, trace).nobody;
		btf_trace__free(trace);
	}
	return 0;
}

/* Finds the number of the thread of the listener in the initial pid namespace, by BPF. */
struct learning {
	int event_fd, prog_fd;
	int result;
	sem_t done;
};

static void learn_tid(void *arg, uint32_t events)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct learning *l = arg;
	uint64_t n;

	if (read(l->event_fd, &n, sizeof(n)) != sizeof(n))
		return;
	l->result = bpf_prog_test_run_opts(l->prog_fd, &opts);
	sem_post(&l->done);
}

/*
 * Have the thread of the listener find its number. That thread runs as long as the listener has the
 * timer.
 */
static int learn_listener(struct source *s, struct fields *f)
{
	struct learning l = { .event_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK),
			      .prog_fd = s->learn_self_fd };
	int err;

	if (l.event_fd < 0)
		return -errno;
	sem_init(&l.done, 0, 0);
	err = listener__add(f->listener, l.event_fd, EPOLLIN, learn_tid, &l);
	if (!err) {
		while (sem_wait(&l.done) < 0)
			;
		listener__remove(f->listener, l.event_fd);
		err = l.result;
	}
	sem_destroy(&l.done);
	close(l.event_fd);
	f->listener_tid = s->control->self_tid;
	return err;
}

static int fields_attach(struct source *s)
{
	struct fields *f = s->skel;
	int err;

	f->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (f->timer_fd < 0)
		return -errno;
	err = listener__add(f->listener, f->timer_fd, EPOLLIN, on_fields_timer, f);
	return err ?: learn_listener(s, f);
}

static void free_bank(struct fields *f, uint32_t bank)
{
	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		free(f->args[bank][i]);
		f->args[bank][i] = NULL;
	}
	free(f->rules[bank]);
	f->rules[bank] = NULL;
	f->n_rules[bank] = 0;
}

/*
 * These rules must see every event: on absence, quiet, with `count`, or with a cooldown per process
 * and so on.
 */
static int take_rules(struct fields *f, uint32_t bank, const struct rule_table *table)
{
	uint32_t n = table->bank.n_rules;

	free_bank(f, bank);
	f->rules[bank] = calloc(n ? n : 1, sizeof(*f->rules[bank]));
	if (!f->rules[bank])
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const struct frbpf_rule *r = &table->rules[i];
		bool sees_all = r->flags & (FRBPF_RULE_QUIET | FRBPF_RULE_ABSENT) ||
				r->count.n > 1 || r->cooldown.per != FRBPF_PER_RULE;

		f->rules[bank][i] =
			(struct cooling_rule){ r->slot, sees_all ? 0 : r->cooldown.time };
	}
	f->n_rules[bank] = n;
	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (!table->args[i])
			continue;
		f->args[bank][i] = strdup(table->args[i]->name);
		if (!f->args[bank][i])
			return -ENOMEM;
	}
	return 0;
}

/* Write the inactive bank, which nothing reads. */
static int fields_write(struct source *s, uint32_t bank, const struct rule_table *table,
			struct err *err)
{
	struct fields *f = s->skel;
	char *filter;
	int code;

	pthread_mutex_lock(&f->lock);
	code = take_rules(f, bank, table);
	pthread_mutex_unlock(&f->lock);
	tap__free(f->next);
	f->next = NULL;
	if (!code && !table->bank.n_rules)
		return 0; /* to be detached */
	filter = code ? NULL : event_filter__make(table, f->format);
	if (!filter)
		return err_set(err, -ENOMEM, "out of memory");
	if (f->tap && !strcmp(f->tap->filter, filter) && !event_ring__is_stale(f->tap->ring)) {
		free(filter);
		return 0;
	}
	code = tap__open(f, filter, &f->next, err);
	code = code ?: tap__listen(f->next);
	return code ? err_prefix(err, code, "tracepoint:%s: ", s->target) : 0;
}

static void read_all_taps(struct tap *t)
{
	for (size_t i = 0; i < event_ring__n(t->ring); i++)
		tap__read(t, i);
}

/*
 * Change the filter. A perf event's filter can be set only once, so a new event replaces the old
 * one. For a moment, both record. The kernel passes a hit to the newer event first, and each event
 * reads the clock itself. So a hit that both record has an earlier time in the new event. On each
 * CPU, only the new event has hits that are later than the last hit of the old one.
 */
static void tap__take_over(struct tap *old, struct tap *new)
{
	new->waits = true;
	event_ring__enable(new->ring, true);
	tap__unsubscribe(old);
	event_ring__enable(old->ring, false);
	read_all_taps(old);
	for (uint32_t i = 0; i < CPUS_MAX; i++) {
		if (old->times[i].last) /* do not touch pages for unused CPUs */
			new->times[i].after = old->times[i].last;
	}
	__atomic_store_n(&new->waits, false, __ATOMIC_RELEASE);
}

static void fields_change_keys(struct source *s, const __u64 *from, const __u64 *to)
{
	struct fields *f = s->skel;
	struct tap *old = f->tap;

	f->leaving = inject__bank(f->inject);
	if (!f->next) {
		end_pause(f); /* the filter is the same, but the rules may differ */
		return;
	}
	if (old)
		tap__take_over(old, f->next);
	else
		event_ring__enable(f->next->ring, true);
	pthread_mutex_lock(&f->lock);
	f->tap = f->next;
	f->next = NULL;
	f->paused = false;
	pthread_mutex_unlock(&f->lock);
	tap__free(old);
}

static void fields_free(struct source *s)
{
	struct fields *f = s->skel;

	if (!f)
		return;
	if (f->timer_fd >= 0) {
		listener__remove(f->listener, f->timer_fd);
		close(f->timer_fd);
	}
	tap__free(f->next);
	tap__free(f->tap);
	free_bank(f, 0);
	free_bank(f, 1);
	inject__free(f->inject);
	event_format__free(f->format);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

const struct source_ops source_tracepoint_fields = {
	.source = FRBPF_SOURCE_TRACEPOINT_FIELDS,
	.name = "tracepoint",
	.elf = inject__elf,
	.load = fields_load,
	.attach = fields_attach,
	.change_keys = fields_change_keys,
	.write = fields_write,
	.free = fields_free,
};
