// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "daemon/session_feed.h"
#include "detect/engine/cgroups.h"
#include "perfdata/marker.h"

#define MARK_TRIES 20 /* if the target starts tasks all the time, some are not recorded */

#define LACKS "this kernel lacks %s: some waits for locks, or interrupts, are not recorded"

static const struct {
	enum feed_kind feed;
	const char *what;
} fed_kinds[MARKER_KINDS] = {
	[MARKER_LOCK_WAIT] = { FEED_LOCK_WAIT, "the owner of a lock" },
	[MARKER_INTERRUPT] = { FEED_INTERRUPT, "the time of interrupts" },
};

size_t session_feed__count(const struct event_list *events)
{
	enum marker_kind kind;
	size_t n = events ? events->off_cpu.wanted + events->off_cpu.sampled : 0;

	for (size_t e = 0; events && e < events->n; e++)
		n += marker__is_fed(&events->v[e].attr, events->v[e].name, &kind);
	return n;
}

static void send_event(const struct session *s, const struct session_cpu *cpu, size_t e,
		       struct feed *f)
{
	const struct event *ev = &s->events->v[e];
	const char *what = "the time off CPU";
	enum feed_kind feed = FEED_OFF_CPU;
	enum marker_kind kind;
	int err;

	if (!ev->off_cpu && !marker__is_fed(&ev->attr, ev->name, &kind))
		return;
	if (s->events->off_cpu.sampled && e == s->events->off_cpu.sampled_event)
		feed = FEED_OFF_CPU_SAMPLED;
	if (!ev->off_cpu) {
		feed = fed_kinds[kind].feed;
		what = fed_kinds[kind].what;
	}
	err = feed__send(f, feed, cpu->cpu, cpu->fds[e]);
	if (err)
		log_warn("session '%s': %s is not recorded on CPU %d: %s", s->name, what, cpu->cpu,
			 strerror(-err));
}

static void send_cpu(const struct session *s, size_t c, void *arg)
{
	for (size_t e = 0; e < s->events->n; e++)
		send_event(s, &s->cpus[c], e, arg);
}

static void note_failure(void *arg, const char *what, const char *why)
{
	struct session *s = arg;

	log_warn("session '%s': %s is not recorded: %s", s->name, what, why);
	if (!s->notice[0])
		snprintf(s->notice, sizeof(s->notice), "%s is not recorded: %.100s", what, why);
}

/* Called with each kind that cannot be loaded. */
typedef void (*failure_fn)(void *arg, const char *what, const char *why);

/* Load what the events of @s want. Returns how many kinds are loaded. */
static size_t load_kinds(const struct session *s, struct feed *f, failure_fn failed, void *arg)
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
			failed(arg, fed_kinds[kind].what, err.msg);
		else
			n++;
	}
	return n;
}

/* ---- the time off CPU ---- */

/* List the cgroups that the session is about. Returns their number, or negative errno. */
static int list_cgroups(const struct session *s, uint64_t *ids)
{
	int n = 0, err = 0;

	if (s->target.kind == RECORD_CGROUP)
		return cgroup__id_of(s->target.cgroup_fd, ids) ?: 1;
	for (size_t e = 0; !err && e < s->events->n; e++)
		if (s->events->v[e].cgroup_fd >= 0)
			err = cgroup__id_of(s->events->v[e].cgroup_fd, &ids[n++]);
	return err ?: n;
}

static int load_off_cpu(const struct session *s, struct feed *f, bool sampled, struct err *err)
{
	const struct off_cpu_opts *opts = &s->events->off_cpu;
	const struct perf_event_attr *attr =
		&s->events->v[sampled ? opts->sampled_event : s->events->n - 1].attr;
	struct feed_off_cpu o = {
		.least_ns = opts->least_ns,
		.sampled = sampled,
		.of_tasks = s->target.kind == RECORD_TASKS,
		.inherits = s->events->off_cpu.inherits,
		.no_kernel = attr->exclude_callchain_kernel,
		.no_user = attr->exclude_callchain_user,
	};
	_cleanup_free_ uint64_t *cgroups = calloc(s->events->n, sizeof(*cgroups));
	int n = cgroups ? list_cgroups(s, cgroups) : -ENOMEM;

	if (n < 0)
		return err_set(err, n, "its cgroup: %s", strerror(-n));
	o.cgroups = cgroups;
	o.n_cgroups = n;
	return feed__load_off_cpu(f, &o, err);
}

/* Load what `run = evidence` wants. Returns how many kinds are loaded. */
static size_t load_evidence(const struct session *s, struct feed *f, failure_fn failed, void *arg)
{
	size_t n = load_kinds(s, f, failed, arg);
	struct err err = { 0 };

	if (!s->events->off_cpu.sampled)
		return n;
	if (!load_off_cpu(s, f, true, &err))
		return n + 1;
	failed(arg, "where tasks wait", err.msg);
	return n;
}

/* Mark the tasks of @target, also those that they start meanwhile. 0 or negative errno. */
static int mark_tasks(const struct record_target *target, struct feed *f)
{
	size_t more = 1;
	int err = 0;

	for (int i = 0; i < MARK_TRIES && more && !err; i++) {
		_cleanup_free_ pid_t *listed = NULL;
		const pid_t *tids = target->tids;
		size_t n = target->n_tids;

		if (record_target__is_open(target)) {
			err = record_target__threads(target, &listed, &n);
			tids = listed;
		}
		err = err ?: feed__mark(f, tids, target->kind == RECORD_TASKS ? n : 0, &more);
	}
	return err == -ESRCH ? 0 : err; /* the task has just ended */
}

/* ---- */

static int attach_feed(struct session *s, const struct record_target *target, struct feed *f,
		       struct err *err)
{
	int code;

	for (size_t c = 0; c < s->n_cpus; c++)
		send_cpu(s, c, f);
	code = feed__attach(f, err);
	if (code || !(s->events->off_cpu.wanted || s->events->off_cpu.sampled))
		return code;
	code = mark_tasks(target, f);
	return code ? err_set(err, code, "its tasks: %s", strerror(-code)) : 0;
}

/*
 * Handle a failure. With --off-cpu it is an error. For `run = evidence` it is logged, and all else
 * is recorded.
 */
static int feed_failed(struct session *s, int code, struct err *err)
{
	if (s->events->off_cpu.wanted)
		return err_prefix(err, code, "session '%s': --off-cpu: ", s->name);
	note_failure(s, "the output of BPF programs", err->msg);
	return 0;
}

int session_feed__open(struct session *s, const struct record_target *target, struct err *err,
		       struct feed **ret)
{
	bool off_cpu = s->events->off_cpu.wanted;
	size_t n = 0;
	struct feed *f;
	int code;

	/* `run = evidence` of some tasks: a program cannot write into the event of a task */
	if (!off_cpu && (!session_feed__count(s->events) || s->target.kind != RECORD_ALL))
		return 0;
	code = feed__new(&f);
	if (code)
		return feed_failed(s, err_set(err, code, "out of memory"), err);
	if (s->target.kind == RECORD_ALL)
		n = load_evidence(s, f, note_failure, s);
	code = off_cpu ? load_off_cpu(s, f, false, err) : 0;
	if (!code && (n || off_cpu))
		code = attach_feed(s, target, f, err);
	if (code || !(n || off_cpu)) {
		feed__free(f);
		return code ? feed_failed(s, code, err) : 0;
	}
	s->reopened = send_cpu;
	s->reopened_arg = f;
	if (*feed__lacking(f))
		log_info("session '%s': " LACKS, s->name, feed__lacking(f));
	*ret = f;
	return 0;
}

/* ---- without a session ---- */

struct missing {
	struct buf *text;
	bool any;
};

static void list_failure(void *arg, const char *what, const char *why)
{
	struct missing *m = arg;

	m->any = true;
	buf__printf(m->text, "%s%s is not recorded: %s", m->text->len ? "\n" : "", what, why);
}

bool session_feed__try(struct event_list *events, struct buf *missing)
{
	const struct session s = { .events = events, .target = { .kind = RECORD_ALL } };
	struct missing m = { .text = missing };
	struct err err = { 0 };
	struct feed *f;

	if (feed__new(&f)) {
		list_failure(&m, "the output of BPF programs", "out of memory");
		return false;
	}
	if (load_evidence(&s, f, list_failure, &m) && feed__attach(f, &err))
		list_failure(&m, "the output of BPF programs", err.msg);
	if (*feed__lacking(f)) {
		m.any = true;
		buf__printf(missing, "%s" LACKS, missing->len ? "\n" : "", feed__lacking(f));
	}
	feed__free(f);
	return !m.any;
}
