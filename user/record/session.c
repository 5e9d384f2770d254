// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "admin/admin.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/cpus.h"
#include "common/realtime.h"
#include "record/offcpu_event.h"
#include "record/session_core.h"

static _Atomic uint64_t memory_of_all;

#define THREADS_TRIES 20
#define NAP_NS	      1000000L

uint64_t session__memory(size_t ring_bytes, size_t n_cpus, bool plain)
{
	return (plain ? 1 : 2) * (uint64_t)ring_bytes * n_cpus;
}

uint64_t session__memory_of_all(void)
{
	return atomic_load(&memory_of_all);
}

/*
 * The anchor must have the same clock and direction as the events, else SET_OUTPUT fails
 * (kernel/events/core.c: perf_event_set_output). Its enabled time ends when its CPU goes offline.
 */
static int open_anchor(struct session *s, int cpu, size_t ring_bytes, struct err *err)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = PERF_ATTR_SIZE_VER7,
		.sample_type = RECORD_SAMPLE_TYPE,
		.sample_period = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.sample_id_all = 1,
		.write_backward = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1, /* nobody polls, so wake-ups shall be as rare as possible */
	};
	int fd;

	attr.wakeup_watermark = ring_bytes;
	fd = s->plain ? session_plain__open_anchor(s, cpu) : admin__open_event(&attr, -1, cpu, 0);
	if (fd < 0)
		return err_set(
			err, fd, "cannot open the ring's event on CPU %d: %s%s", cpu, strerror(-fd),
			fd == -EACCES || fd == -EPERM ? "; run as root or grant CAP_PERFMON" : "");
	return fd;
}

int session_cpu__send(const struct session_cpu *c, int fd, const char *name, uint64_t *ret_id,
		      struct err *err)
{
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (long)c->anchor) < 0)
		return err_set(err, -errno,
			       "event '%s' on CPU %d: cannot be directed into the ring: %s", name,
			       c->cpu, strerror(errno));
	if (ioctl(fd, PERF_EVENT_IOC_ID, ret_id) < 0)
		return err_set(err, -errno, "event '%s' on CPU %d: has no id: %s", name, c->cpu,
			       strerror(errno));
	return 0;
}

static int open_event_on(struct session *s, size_t e, const struct record_target *target, size_t t,
			 struct session_cpu *c, struct err *err)
{
	struct event *ev = &s->events->v[e];
	const char *notice = NULL;
	int leader = ev->leader == e ? -1 : c->fds[t * s->events->n + ev->leader], fd;

	if (ev->off_cpu && t) /* one event covers all tasks */
		return 0;

	fd = event__open_for(ev, target, t, c->cpu, leader, err, &notice);
	if (notice && !s->notice[0])
		snprintf(s->notice, sizeof(s->notice), "%s", notice);
	if (fd < 0)
		return fd;
	c->fds[t * s->events->n + e] = fd;
	return session_cpu__send(c, fd, ev->name,
				 &s->ids[(e * s->n_targets + t) * s->n_id_cpus + (c - s->cpus)],
				 err);
}

int session_cpu__open_ring(struct session *s, struct session_cpu *c, size_t ring_bytes,
			   struct err *err)
{
	int code;

	c->plain = s->plain;
	c->opened = now_ns();
	c->anchor = c->pulse = open_anchor(s, c->cpu, ring_bytes, err);
	if (c->anchor < 0)
		return c->anchor;
	if (ioctl(c->anchor, PERF_EVENT_IOC_ID, &c->anchor_id) < 0)
		return err_set(err, -errno, "CPU %d: the ring's event has no id: %s", c->cpu,
			       strerror(errno));
	code = c->plain ? ring__map_forward(&c->ring, c->anchor, ring_bytes, err)
			: ring__map(&c->ring, c->anchor, ring_bytes, err);
	if (!code)
		atomic_fetch_add(&memory_of_all, session__memory(ring_bytes, 1, c->plain));
	return code;
}

static void close_events(struct session *s)
{
	for (size_t c = 0; c < s->n_cpus; c++) {
		int *fds = s->cpus[c].fds;

		for (size_t i = 0; fds && i < s->events->n * s->n_targets; i++) {
			if (fds[i] >= 0)
				close(fds[i]);
		}
		free(fds);
		s->cpus[c].fds = NULL;
	}
	session__close_spares(s);
	free(s->ids);
	s->ids = NULL;
}

/* Open all events on all CPUs for @target. *ret_event: the one that failed. */
static int try_events(struct session *s, const struct record_target *target, size_t *ret_event,
		      struct err *err)
{
	size_t n;
	int code = 0;

	s->n_targets = target->kind == RECORD_TASKS ? target->n_tids : 1;
	n = s->events->n * s->n_targets;
	s->ids = calloc(s->n_id_cpus * n ?: 1, sizeof(*s->ids));
	if (!s->ids)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t c = 0; c < s->n_cpus && !code; c++) {
		int *fds = s->cpus[c].fds = calloc(n ?: 1, sizeof(*fds));

		if (!fds)
			return err_set(err, -ENOMEM, "out of memory");
		for (size_t i = 0; i < n; i++)
			fds[i] = -1;
		for (size_t i = 0; !code && i < n; i++) {
			*ret_event = i % s->events->n;
			code = open_event_on(s, *ret_event, target, i / s->events->n, &s->cpus[c],
					     err);
		}
	}
	if (!code)
		session__open_spares(s, target);
	return code;
}

/* A weak group for which the PMU has no room becomes single events. */
static int open_events(struct session *s, const struct record_target *target, struct err *err)
{
	for (;;) {
		size_t e = 0, leader;
		int code = try_events(s, target, &e, err);

		leader = code ? s->events->v[e].leader : e;
		if (!code || code == -ESRCH || leader == e || !s->events->v[leader].weak)
			return code;
		close_events(s);
		event_list__dissolve(s->events, leader);
		*err = (struct err){ 0 };
	}
}

static bool has_tid(const struct record_target *t, pid_t tid)
{
	for (size_t i = 0; i < t->n_tids; i++) {
		if (t->tids[i] == tid)
			return true;
	}
	return false;
}

/*
 * Does the target have a thread that @seen lacks? It may have inherited events on some CPUs only.
 * 1, 0 or negative errno.
 */
static int has_new_thread(const struct record_target *seen)
{
	_cleanup_free_ pid_t *tids = NULL;
	size_t n, i = 0;
	int err = record_target__threads(seen, &tids, &n);

	if (err)
		return err == -ESRCH ? 0 : err;
	while (i < n && has_tid(seen, tids[i]))
		i++;
	return i < n;
}

static int target_error(const struct record_target *target, int code, struct err *err)
{
	if (code != -ESRCH)
		return err_set(err, code, "cannot list the target's threads: %s", strerror(-code));
	if (target->of_user)
		return err_set(err, code, "user %u has no task", target->uid);
	if (target->n_processes == 1)
		return err_set(err, code, "process %d: it has ended", target->processes[0]);
	return err_set(err, code, "one of the processes has ended");
}

/*
 * Open the events of all threads of the target. Threads that start later inherit them, but a thread
 * that starts while we open them may lack some. So open all again until no thread started in
 * between. If the target starts threads all the time, some of them are not recorded.
 */
static int open_threads(struct session *s, const struct record_target *target, struct err *err)
{
	struct record_target now = *target;
	int code, more = 1;

	for (int i = 0; i < THREADS_TRIES && more; i++) {
		_cleanup_free_ pid_t *tids = NULL;

		close_events(s);
		*err = (struct err){ 0 };
		if (i) /* let the target finish starting threads: wait a second in total */
			nanosleep(&(struct timespec){ .tv_nsec = NAP_NS << (i < 7 ? i - 1 : 6) },
				  NULL);
		code = record_target__threads(target, &tids, &now.n_tids);
		if (code)
			return target_error(target, code, err);
		now.tids = tids;
		code = open_events(s, &now, err);
		if (code && code != -ESRCH)
			return code;
		more = code ? 1 : has_new_thread(&now);
		if (more < 0)
			return err_set(err, more, "out of memory");
	}
	if (code)
		return code;
	if (more && !s->notice[0])
		snprintf(s->notice, sizeof(s->notice),
			 "the target starts threads all the time: some may be missing");
	return 0;
}

/*
 * Touch the memory now: page faults in a freeze would make copying six times as slow. Lock it if
 * that is allowed.
 */
int session__add_copies(struct session *s, size_t n, size_t ring_bytes, struct err *err)
{
	uint8_t *p = s->copy_area + s->copy_bytes;
	size_t first = s->copy_bytes / ring_bytes, bytes = n * ring_bytes;

	if (s->plain)
		return 0;
	if (mprotect(p, bytes, PROT_READ | PROT_WRITE) < 0)
		return err_set(err, -errno, "cannot reserve %zu MiB for copies of the rings: %s",
			       bytes >> 20, strerror(errno));
	if (mlock(p, bytes) < 0)
		memset(p, 0, bytes);
	for (size_t i = 0; i < n; i++)
		s->cpus[first + i].copy = p + i * ring_bytes;
	s->copy_bytes += bytes;
	return 0;
}

/* Reserve addresses for all possible CPUs, and memory for those that exist. */
static int reserve_copy_area(struct session *s, size_t ring_bytes, struct err *err)
{
	size_t bytes = ring_bytes * s->max_cpus;
	void *p;

	if (s->plain)
		return 0;
	p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return err_set(err, -errno, "cannot reserve %zu MiB for copies of the rings: %s",
			       bytes >> 20, strerror(errno));
	s->copy_area = p;
	s->copy_reserved = bytes;
	madvise(p, bytes, MADV_HUGEPAGE);
	madvise(p, bytes, MADV_DONTDUMP);
	return session__add_copies(s, s->n_cpus, ring_bytes, err);
}

static int alloc_cpus(struct session *s, struct err *err)
{
	_cleanup_free_ int *cpus = NULL;
	size_t n, possible = cpus__n_possible();
	int code = cpus__online(&cpus, &n);

	if (code)
		return err_set(err, code, "cannot read the list of online CPUs: %s",
			       strerror(-code));
	if (s->target.n_cpus) {
		n = possible = s->target.n_cpus;
		memcpy(cpus, s->target.cpus, n * sizeof(*cpus));
	}
	s->n_cpus = s->n_id_cpus = n;
	s->max_cpus = possible > n ? possible : n;
	s->cpus = calloc(s->max_cpus, sizeof(*s->cpus));
	if (!s->cpus)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		s->cpus[i] = (struct session_cpu){
			.cpu = cpus[i], .anchor = -1, .pulse = -1, .ring.fd = -1
		};
	return 0;
}

static int copy_cpus(struct session *s, const struct record_target *target)
{
	if (!target->n_cpus)
		return 0;
	s->target.cpus = calloc(target->n_cpus, sizeof(*target->cpus));
	if (!s->target.cpus)
		return -ENOMEM;
	memcpy(s->target.cpus, target->cpus, target->n_cpus * sizeof(*target->cpus));
	s->target.n_cpus = target->n_cpus;
	return 0;
}

/* Keep what is needed to open events later. */
static int keep_target(struct session *s, const struct record_target *target, struct err *err)
{
	s->target = (struct record_target){ .kind = target->kind, .cgroup_fd = -1 };
	if (target->kind == RECORD_CGROUP)
		s->target.cgroup_fd = fcntl(target->cgroup_fd, F_DUPFD_CLOEXEC, 0);
	if (target->kind == RECORD_CGROUP && s->target.cgroup_fd < 0)
		return err_set(err, -errno, "the cgroup: %s", strerror(errno));
	if (copy_cpus(s, target) || session_delay__keep(s, target))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/*
 * An event on sched_switch of a task tells only when the task leaves its CPU. Have the kernel add
 * PERF_RECORD_SWITCH records, which also tell when it comes back.
 */
static void add_switches(struct event_list *events)
{
	for (size_t e = 0; e < events->n; e++) {
		const struct tracepoint *tp = events->v[e].tp;
		struct perf_event_attr *attr = &events->v[e].attr;

		if (tp ? !strcmp(tp->system, "sched") && !strcmp(tp->name, "sched_switch")
		       : attr->type == PERF_TYPE_SOFTWARE &&
				    attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES)
			attr->context_switch = 1;
	}
}

static bool has_cgroup(const struct event_list *events)
{
	for (size_t e = 0; e < events->n; e++) {
		if (events->v[e].cgroup)
			return true;
	}
	return false;
}

size_t session__descriptors(const struct event_list *events, const struct record_target *target,
			    size_t n_cpus)
{
	_cleanup_free_ pid_t *tids = NULL;
	_cleanup_free_ int *present = NULL;
	size_t n = target->kind == RECORD_TASKS ? target->n_tids : 1, cgroups = 0, n_present;
	size_t spare = 0;

	if (record_target__is_open(target) && record_target__threads(target, &tids, &n))
		n = 1; /* session__open() reports the error */
	for (size_t e = 0; e < events->n; e++)
		cgroups += events->v[e].cgroup != NULL;
	cgroups += target->kind == RECORD_CGROUP;
	if (target->kind == RECORD_TASKS && !target->n_cpus && !cpus__present(&present, &n_present))
		spare = n_present > n_cpus ? n_present - n_cpus : 0;
	return (target->n_cpus ?: n_cpus) * (1 + events->n * n) + spare * events->n * n + cgroups;
}

int session__open(const char *name, const char *run, struct event_list *events, size_t ring_bytes,
		  const struct record_target *target, struct err *err, struct session **ret)
{
	static const struct record_target everybody = { .kind = RECORD_ALL };
	struct session *s = calloc(1, sizeof(*s));
	int code;

	if (!s) {
		event_list__free(events);
		return err_set(err, -ENOMEM, "out of memory");
	}
	atomic_init(&s->refs, 1);
	thread__init_lock(&s->lock);
	s->target.cgroup_fd = -1;
	target = target ?: &everybody;
	if (target->kind != RECORD_ALL || has_cgroup(events))
		add_switches(events);
	s->events = events;
	s->plain = events->plain;
	if (s->plain)
		session_plain__init_attr(s, ring_bytes);
	s->name = strdup(name);
	s->run = strdup(run);
	code = s->name && s->run ? keep_target(s, target, err)
				 : err_set(err, -ENOMEM, "out of memory");
	code = code ?: alloc_cpus(s, err);
	code = code ?: event_list__open_cgroups(events, err);
	for (size_t i = 0; !code && i < s->n_cpus; i++)
		code = session_cpu__open_ring(s, &s->cpus[i], ring_bytes, err);
	code = code
		       ?: record_target__is_open(target) ? open_threads(s, target, err)
							 : open_events(s, target, err);
	code = code ?: reserve_copy_area(s, ring_bytes, err);
	if (code) {
		session__unref(s);
		return err_prefix(err, code, "session '%s': ", name);
	}
	*ret = s;
	return 0;
}

int session__start(struct session *s, struct err *err)
{
	s->started = now_ns();
	if (s->target.n_delay)
		return session_delay__start(s, err);
	for (size_t i = 0; i < s->n_cpus; i++) {
		for (size_t k = 0; k < s->events->n * s->n_targets; k++) {
			if (s->events->v[k % s->events->n].attr.enable_on_exec)
				continue;
			if (s->cpus[i].fds[k] >= 0 &&
			    ioctl(s->cpus[i].fds[k], PERF_EVENT_IOC_ENABLE, 0) < 0)
				return err_set(err, -errno,
					       "session '%s': cannot enable '%s' on CPU %d: %s",
					       s->name, s->events->v[k % s->events->n].name,
					       s->cpus[i].cpu, strerror(errno));
		}
	}
	s->started = now_ns();
	return 0;
}

uint64_t session__written(const struct session *s)
{
	uint64_t sum = 0;

	for (size_t c = 0; c < s->n_cpus; c++) {
		uint64_t head = ring__head(&s->cpus[c].ring);

		sum += s->plain ? head : -head;
	}
	return sum;
}

const uint64_t *session__event_ids(const struct session *s, size_t e, size_t *ret_n)
{
	*ret_n = (s->events->v[e].off_cpu ? 1 : s->n_targets) * s->n_id_cpus;
	return s->ids + e * s->n_targets * s->n_id_cpus;
}

uint64_t session__marker_fields(const struct session *s)
{
	uint64_t any = 0, all = RECORD_EMPTY_FIELDS;

	for (size_t e = 0; e < s->events->n; e++) {
		any |= event__file_fields(&s->events->v[e]);
		all &= event__file_fields(&s->events->v[e]);
	}
	return all | (any & PERF_SAMPLE_CALLCHAIN);
}

struct session *session__ref(struct session *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

void session_cpu__close_events(int *fds, size_t n, int pulse)
{
	for (size_t i = 0; fds && i < n; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	free(fds);
	if (pulse >= 0)
		close(pulse);
}

void session_cpu__close(struct session_cpu *c, size_t n_fds)
{
	session_cpu__close_events(c->fds, n_fds, c->pulse != c->anchor ? c->pulse : -1);
	if (c->ring.base)
		atomic_fetch_sub(&memory_of_all, session__memory(c->ring.size, 1, c->plain));
	ring__unmap(&c->ring);
	if (c->anchor >= 0)
		close(c->anchor);
}

void session__unref(struct session *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	session_delay__stop(s);
	for (size_t i = 0; s->cpus && i < s->n_cpus; i++)
		session_cpu__close(&s->cpus[i], s->events->n * s->n_targets);
	session__close_spares(s);
	if (s->copy_area)
		munmap(s->copy_area, s->copy_reserved);
	if (s->target.cgroup_fd >= 0)
		close(s->target.cgroup_fd);
	pthread_mutex_destroy(&s->lock);
	free(s->aliases);
	free(s->off);
	free(s->target.cpus);
	event_list__free(s->events);
	free(s->cpus);
	free(s->ids);
	free(s->name);
	free(s->run);
	free(s);
}
