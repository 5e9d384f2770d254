// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/realtime.h"
#include "daemon/incident_pool.h"
#include "daemon/namer.h"
#include "daemon/reaper.h"
#include "daemon/recorder.h"
#include "rules/units.h"

#define CONSUME_MAX 256
/* What a dump makes the kernel do goes on for so long: its journal, the disk's own flushes. */
#define SELF_AFTER_NS NSEC_PER_SEC
/* A disk that hangs, or is that slow, is no doing of ours: from then on rules on it fire again. */
#define SELF_MAX_NS  (30 * NSEC_PER_SEC)
#define NAMES_MAX_NS (2 * NSEC_PER_SEC) /* for the names of the last incidents */
#define TELL_EVERY   NSEC_PER_SEC	/* of triggers that begin no incident */

struct recorder {
	struct detectors *detectors;
	struct reaper *reaper;
	struct namer *namer; /* NULL: nobody names functions */
	int rt_priority;
	pthread_t thread;
	bool running;
	int epoll, timer;
	int wake;     /* eventfd for the thread */
	int progress; /* eventfd for the collector */
	uint64_t copy_ns_per_mib;
	sem_t synced; /* the thread has passed a point that another waits for */

	/* Guards everything below. Priority is inherited: the thread must not wait until a dumper
	 * gets a time slice. */
	pthread_mutex_t lock;
	bool stop, sync_wanted;
	struct generation *gen, *offered; /* references */
	struct incident_pool pool;
	struct recorder_stats stats;
	int n_writing; /* incidents and manifests that are being written */
	/* What the triggers' listener was told of: see recorder__on_triggers(). */
	recorder_trigger_fn triggered;
	void *triggered_arg;
	bool fired;	  /* triggers were taken that it does not know of */
	uint64_t told;	  /* incidents that had begun then */
	uint64_t told_at; /* ns */
	pthread_cond_t told_more;
};

static void poke(int eventfd)
{
	uint64_t one = 1;

	while (write(eventfd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void swallow(int eventfd)
{
	uint64_t n;

	while (read(eventfd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
}

/*
 * We begin to write (@more 1) or are done with that (-1). Meanwhile, and for a while after, sources
 * that writing disturbs take it for ours. Under the lock.
 */
static void count_writing(struct recorder *r, int more)
{
	r->n_writing += more;
	detectors__hold(r->detectors, FRBPF_HOLD_SELF,
			now_ns() + (r->n_writing ? SELF_MAX_NS : SELF_AFTER_NS));
}

/* ---- the thread ---- */

static bool find_rule(const struct generation *g, uint64_t id, size_t *ret)
{
	for (size_t i = 0; g && i < g->rules->n_rules; i++) {
		if (g->rules->rules[i].id == id) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* Once max-dumps is reached the kernel need not wake us for more. Under the lock. */
static void hold_capped(struct recorder *r, const struct generation *g, size_t rule)
{
	detectors__hold(
		r->detectors, g->slots[rule],
		dump_log__free_at(&g->tallies[rule].dumps, &g->rules->rules[rule].max_dumps));
	detectors__hold(r->detectors, FRBPF_HOLD_ALL,
			dump_log__free_at(&r->pool.dumps, &g->rules->daemon.max_dumps));
}

static void take_trigger(struct recorder *r, struct generation *g, size_t rule,
			 const struct frbpf_trigger *t)
{
	uint64_t begun = r->pool.begun;

	incident_pool__trigger(&r->pool, g, rule, t);
	if (!r->fired || r->pool.begun != begun)
		poke(r->progress);
	r->fired = true;
	if (g == r->gen)
		hold_capped(r, g, rule);
}

static void on_trigger(const struct frbpf_trigger *t, void *arg)
{
	struct recorder *r = arg;
	size_t rule;

	pthread_mutex_lock(&r->lock);
	if (find_rule(r->gen, t->rule_id, &rule))
		take_trigger(r, r->gen, rule, t);
	else if (find_rule(r->offered, t->rule_id, &rule))
		take_trigger(r, r->offered, rule, t);
	else
		r->stats.stale++;
	pthread_mutex_unlock(&r->lock);
}

static void on_stacks(const struct frbpf_stacks *s, void *arg)
{
	struct recorder *r = arg;

	pthread_mutex_lock(&r->lock);
	incident_pool__stacks(&r->pool, s);
	pthread_mutex_unlock(&r->lock);
}

/* At most CONSUME_MAX at a time: deadlines must be met in a storm, too. Returns how many. */
static int consume_triggers(struct recorder *r)
{
	return detectors__consume(r->detectors, CONSUME_MAX, on_trigger, r);
}

/* What one freeze works on. */
struct frozen_set {
	struct session *sessions[INCIDENT_SESSIONS_MAX];
	struct ring_shot *shots[INCIDENT_SESSIONS_MAX];
	size_t n;
	uint64_t bytes;
};

static void select_sessions(const struct incident *inc, struct frozen_set *set)
{
	set->n = set->bytes = 0;
	for (size_t i = 0; i < inc->gen->n_dumpers; i++) {
		struct dumper *d = inc->gen->dumpers[i];

		if (!(inc->sessions & (1ULL << i)))
			continue;
		set->sessions[set->n] = d->session;
		set->shots[set->n++] = d->shots;
		set->bytes += d->session->copy_bytes;
	}
}

static void freeze_rings(struct recorder *r, struct incident *inc, const struct frozen_set *set)
{
	enum snapshot_mode mode = inc->gen->rules->daemon.snapshot;
	bool is_short = freeze__is_short(set->bytes, r->copy_ns_per_mib);

	if (mode == SNAPSHOT_LIVE || (mode == SNAPSHOT_AUTO && !is_short)) {
		freeze__mark(set->sessions, set->shots, set->n, &inc->freeze);
	} else {
		freeze__pause(set->sessions, set->shots, set->n, &inc->freeze);
		if (!is_short) /* `snapshot = pause`: still, no real-time thread copies for long */
			thread__set_class(THREAD_NORMAL, 0);
		freeze__copy_and_resume(set->sessions, set->shots, set->n, &inc->freeze);
		if (!is_short)
			thread__set_class(THREAD_REALTIME, r->rt_priority);
	}
	inc->realtime_offset = clock_ns(CLOCK_REALTIME) - now_ns();
}

static void freeze_incident(struct recorder *r, struct incident *inc)
{
	struct frozen_set set;
	struct generation *g;
	uint64_t late, left;

	inc->min_free = inc->gen->rules->daemon.min_free;
	select_sessions(inc, &set);
	freeze_rings(r, inc, &set);

	pthread_mutex_lock(&r->lock);
	late = inc->freeze.frozen > inc->due ? inc->freeze.frozen - inc->due : 0;
	r->stats.latency_last = late;
	if (late > r->stats.latency_max)
		r->stats.latency_max = late;
	incident_pool__frozen(inc, set.n);
	if (set.n)
		count_writing(r, 1);
	else
		poke(r->progress);
	g = inc->gen;
	left = inc->sessions;
	pthread_mutex_unlock(&r->lock);

	/* with the last part handed over the incident may be written and gone at any moment */
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

static void set_timer(struct recorder *r, uint64_t deadline)
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

static void *recorder_thread(void *arg)
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
		set_timer(r, deadline);
		if (epoll_wait(r->epoll, ev, ARRAY_SIZE(ev), -1) < 0)
			continue;
		swallow(r->wake);
		consume_triggers(r);
		answer_sync(r);
	}
	return NULL;
}

/* In a dumper's thread. */
static void on_dumped(void *arg, struct dumper *d, struct incident *inc, size_t index)
{
	struct recorder *r = arg;

	pthread_mutex_lock(&r->lock);
	d->busy = false;
	d->freed = now_ns();
	if (inc->results[index].error)
		r->stats.failed++;
	if (incident_pool__part_written(inc)) {
		count_writing(r, -1);
		poke(r->progress);
	}
	pthread_mutex_unlock(&r->lock);
	poke(r->wake);
}

/* In the namer's thread. */
static void on_named(struct incident *inc, void *arg)
{
	struct recorder *r = arg;

	pthread_mutex_lock(&r->lock);
	inc->naming = false;
	inc->named = true;
	pthread_mutex_unlock(&r->lock);
	poke(r->progress);
}

/* ---- for the other threads ---- */

void recorder__dumper_callback(struct recorder *r, dumper_done_fn *ret_fn, void **ret_arg)
{
	*ret_fn = on_dumped;
	*ret_arg = r;
}

static int watch(struct recorder *r, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

static int open_fds(struct recorder *r)
{
	int err;

	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->progress = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->epoll < 0 || r->timer < 0 || r->wake < 0 || r->progress < 0)
		return -errno;
	err = watch(r, r->timer);
	err = err ?: watch(r, r->wake);
	return err ?: watch(r, detectors__fd(r->detectors));
}

static int init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	err = -pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return err;
}

static int init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	int err;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	err = -pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return err;
}

int recorder__new(const struct recorder_opts *opts, struct err *err, struct recorder **ret)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	*r = (struct recorder){ .detectors = opts->detectors,
				.rt_priority = opts->rt_priority,
				.epoll = -1,
				.timer = -1,
				.wake = -1,
				.progress = -1 };
	sem_init(&r->synced, 0, 0);
	r->copy_ns_per_mib = freeze__measure_copy();
	detectors__on_stacks(r->detectors, on_stacks, r);
	code = init_lock(&r->lock);
	code = code ?: init_cond(&r->told_more);
	code = code ?: incident_pool__init(&r->pool);
	code = code ?: open_fds(r);
	code = code ?: reaper__start(err, &r->reaper);
	if (!code && opts->examiner)
		code = namer__start(opts->examiner, on_named, r, err, &r->namer);
	if (!code)
		code = -pthread_create(&r->thread, NULL, recorder_thread, r);
	if (code) {
		recorder__free(r);
		return err_set(err, code, "cannot start the trigger thread: %s", strerror(-code));
	}
	r->running = true;
	while (sem_wait(&r->synced) < 0)
		;
	*ret = r;
	return 0;
}

void recorder__sync(struct recorder *r)
{
	pthread_mutex_lock(&r->lock);
	r->sync_wanted = true;
	pthread_mutex_unlock(&r->lock);
	poke(r->wake);
	while (sem_wait(&r->synced) < 0)
		;
}

static void offer(struct recorder *r, struct generation *g)
{
	pthread_mutex_lock(&r->lock);
	r->offered = g;
	pthread_mutex_unlock(&r->lock);
}

static void commit(struct recorder *r)
{
	struct generation *old;

	recorder__sync(r);
	pthread_mutex_lock(&r->lock);
	old = r->gen;
	if (old)
		generation__take_tallies(r->offered, old);
	r->gen = r->offered;
	r->offered = NULL;
	for (size_t i = 0; i < r->gen->rules->n_rules; i++)
		hold_capped(r, r->gen, i);
	pthread_mutex_unlock(&r->lock);
	reaper__give(r->reaper, old);
}

static void withdraw(struct recorder *r)
{
	struct generation *g;

	recorder__sync(r);
	pthread_mutex_lock(&r->lock);
	g = r->offered;
	r->offered = NULL;
	pthread_mutex_unlock(&r->lock);
	reaper__give(r->reaper, g);
}

int recorder__put_in_force(struct recorder *r, struct generation *g, struct err *err)
{
	const struct ruleset *rs = g->rules;
	int code;

	offer(r, g);
	code = detectors__update(r->detectors, rs->rules, rs->n_rules, g->slots, err);
	if (code)
		withdraw(r);
	else
		commit(r);
	/* what the real-time threads touch stays in memory; not an error where it is refused */
	mlockall(MCL_CURRENT | MCL_ONFAULT);
	return code;
}

void recorder__reap(struct recorder *r)
{
	reaper__wait(r->reaper);
}

struct generation *recorder__generation(struct recorder *r)
{
	return r->gen;
}

void recorder__mute(struct recorder *r, size_t i, uint64_t until)
{
	pthread_mutex_lock(&r->lock);
	r->gen->muted_until[i] = until;
	pthread_mutex_unlock(&r->lock);
}

int64_t recorder__dump(struct recorder *r, uint64_t mask, const char *reason)
{
	struct frbpf_trigger t = {
		.time = now_ns(),
		.cpu = sched_getcpu(),
		.subject = { .pid = getpid(),
			     .tid = gettid(),
			     .comm = "frbpf",
			     .process = "frbpf" },
	};
	struct incident *inc;
	int64_t number;

	pthread_mutex_lock(&r->lock);
	inc = incident_pool__manual(&r->pool, r->gen, mask, reason, &t);
	number = inc ? (int64_t)inc->number : -EBUSY;
	pthread_mutex_unlock(&r->lock);
	poke(r->wake);
	return number;
}

int recorder__fd(const struct recorder *r)
{
	return r->progress;
}

static void let_go(struct recorder *r, struct incident *inc)
{
	struct dump_cpu *cpus[INCIDENT_SESSIONS_MAX];
	struct generation *g;

	pthread_mutex_lock(&r->lock);
	g = incident_pool__let_go(inc, cpus);
	pthread_mutex_unlock(&r->lock);
	if (!g) {
		poke(r->progress);
		return;
	}
	for (size_t i = 0; i < INCIDENT_SESSIONS_MAX; i++)
		free(cpus[i]);
	reaper__give(r->reaper, g);
}

/* Once all is written, files of others may be looked into: they may be on a disk that hangs. */
static void ask_for_names(struct recorder *r, struct incident *inc)
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

/* They are for the manifest, which is written again. */
static bool take_names(struct recorder *r, struct incident *inc)
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

/* Returns ns until @inc wants to be looked at again; 0: it is done with. */
static uint64_t collect_one(struct recorder *r, struct incident *inc, recorder_collect_fn fn,
			    void *arg)
{
	bool stale, first, closed, written, named, naming;
	uint64_t expires, now = now_ns();

	named = take_names(r, inc);
	pthread_mutex_lock(&r->lock);
	expires = incident_pool__merge_end(inc);
	first = !inc->reported;
	closed = r->pool.closed;
	stale = inc->manifest_stale && (first || named || now >= expires || closed);
	if (stale) {
		inc->manifest_stale = false;
		count_writing(r, 1);
	}
	pthread_mutex_unlock(&r->lock);
	inc->reported = true;
	if (stale) {
		written = fn(inc, first, arg);
		pthread_mutex_lock(&r->lock);
		count_writing(r, -1);
		if (!written) {
			r->stats.failed++;
			if (first && now < expires)
				inc->manifest_stale = true; /* once more, when it expires */
		}
		pthread_mutex_unlock(&r->lock);
	}
	if (first)
		ask_for_names(r, inc);
	pthread_mutex_lock(&r->lock);
	naming = inc->naming;
	pthread_mutex_unlock(&r->lock);
	if (now < expires && !closed)
		return expires - now;
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
	while (r->triggered && !inc->manual && r->told < inc->number && !err)
		err = pthread_cond_timedwait(&r->told_more, &r->lock, &ts);
	pthread_mutex_unlock(&r->lock);
}

/* Returns ns until there is more to tell. */
static uint64_t tell_triggers(struct recorder *r)
{
	uint64_t begun, since, now = now_ns();
	bool fired;

	pthread_mutex_lock(&r->lock);
	begun = r->pool.begun;
	since = now - r->told_at;
	fired = r->fired;
	if (begun != r->told || since >= TELL_EVERY)
		r->fired = false;
	pthread_mutex_unlock(&r->lock);
	if (!r->triggered || (!fired && begun == r->told))
		return UINT64_MAX;
	if (begun == r->told && since < TELL_EVERY)
		return TELL_EVERY - since;
	r->triggered(r->triggered_arg);
	pthread_mutex_lock(&r->lock);
	r->told = begun;
	r->told_at = now;
	pthread_cond_broadcast(&r->told_more);
	pthread_mutex_unlock(&r->lock);
	return UINT64_MAX;
}

bool recorder__next_cap(struct recorder *r, struct dump_cap *ret)
{
	bool more;

	pthread_mutex_lock(&r->lock);
	more = incident_pool__next_cap(&r->pool, r->gen, now_ns(), ret);
	pthread_mutex_unlock(&r->lock);
	return more;
}

uint64_t recorder__collect(struct recorder *r, recorder_collect_fn fn, void *arg)
{
	uint64_t next, wait;

	swallow(r->progress);
	next = tell_triggers(r);
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
			let_go(r, inc);
		else if (wait < next)
			next = wait;
	}
	return next;
}

void recorder__stats(struct recorder *r, struct recorder_stats *ret)
{
	pthread_mutex_lock(&r->lock);
	*ret = r->stats;
	ret->incidents = r->pool.begun;
	ret->busy = r->pool.busy;
	ret->writing = incident_pool__under_way(&r->pool);
	pthread_mutex_unlock(&r->lock);
}

static uint64_t longest_pre(const struct generation *g, uint64_t longest)
{
	for (size_t i = 0; g && i < g->rules->n_rules; i++) {
		uint64_t pre = g->rules->rules[i].pre;

		if (pre != RULESET_WINDOW_AUTO && pre > longest)
			longest = pre;
	}
	return longest;
}

uint64_t recorder__longest_pre(struct recorder *r)
{
	uint64_t longest;

	pthread_mutex_lock(&r->lock);
	longest = longest_pre(r->offered, longest_pre(r->gen, 0));
	pthread_mutex_unlock(&r->lock);
	return longest;
}

void recorder__tally(struct recorder *r, size_t i, struct rule_tally *ret)
{
	pthread_mutex_lock(&r->lock);
	*ret = r->gen->tallies[i];
	pthread_mutex_unlock(&r->lock);
}

size_t recorder__written_names(struct recorder *r, char ret[INCIDENT_POOL_SIZE][INCIDENT_NAME_SIZE])
{
	size_t n = 0;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		if (r->pool.v[i]->state == INCIDENT_WRITTEN)
			memcpy(ret[n++], r->pool.v[i]->name, INCIDENT_NAME_SIZE);
	}
	pthread_mutex_unlock(&r->lock);
	return n;
}

void recorder__set_name(struct recorder *r, struct incident *inc,
			const char name[static INCIDENT_NAME_SIZE])
{
	pthread_mutex_lock(&r->lock);
	memcpy(inc->name, name, INCIDENT_NAME_SIZE);
	pthread_mutex_unlock(&r->lock);
}

void recorder__dumps(struct recorder *r, struct dump_log *ret)
{
	pthread_mutex_lock(&r->lock);
	*ret = r->pool.dumps;
	pthread_mutex_unlock(&r->lock);
}

void recorder__remember_dumps(struct recorder *r, const struct dump_log *dumps)
{
	pthread_mutex_lock(&r->lock);
	r->pool.dumps = *dumps;
	pthread_mutex_unlock(&r->lock);
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
	poke(r->wake);
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

void recorder__free(struct recorder *r)
{
	if (!r)
		return;
	if (r->running) {
		__atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
		poke(r->wake);
		pthread_join(r->thread, NULL);
	}
	namer__free(r->namer);
	generation__unref(r->gen);
	generation__unref(r->offered);
	incident_pool__free(&r->pool);
	reaper__free(r->reaper);
	for (size_t i = 0; i < 4; i++) {
		int fd = (int[]){ r->epoll, r->timer, r->wake, r->progress }[i];

		if (fd >= 0)
			close(fd);
	}
	sem_destroy(&r->synced);
	free(r);
}
