// SPDX-License-Identifier: GPL-2.0-only
/*
 * psi: triggers of the kernel report that tasks were stalled for too long. A rule has two: one at
 * its threshold, and an early one at an eighth of that. When the early one fires, we only read
 * total=, so that an earlier value is known when the other one fires.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/proc_file.h"
#include "common/rights.h"
#include "detect/engine/cgroups.h"
#include "detect/inject/inject.h"
#include "detect/inject/listener.h"
#include "detect/psi_meter.h"
#include "detect/write_times.h"
#include "rules/target.h"
#include "rules/units.h"

#define EARLY	     8 /* readings begin at this fraction of the threshold: 1 / EARLY */
#define RETRY_NS     (2 * NSEC_PER_SEC)
#define PSI_TEXT_MAX 512

/*
 *	watching ◄──► gone
 *
 * gone: the cgroup does not exist; every two seconds we look for it.
 */
struct psi {
	struct inject *inject;
	struct listener *listener;
	struct write_times *writes;
	struct psi_target target;
	char path[2 * PATH_MAX];
	int rule_fd, early_fd; /* -1 while the cgroup is gone */
	int retry_fd;	       /* timerfd */
	bool closing;
	bool theirs; /* our cgroup is not below that of the target */
	int own_fd;  /* pressure of our own cgroup, which is in the target; -1: unknown */
	struct psi_meter meter, own; /* used by the thread of the listener */
};

static int pressure_read(int fd, const char *kind, uint64_t *ret_total)
{
	char text[PSI_TEXT_MAX];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return proc_file__pressure(text, kind, ret_total);
}

static int psi_read(struct psi *p, uint64_t *ret_total)
{
	return pressure_read(p->rule_fd, p->target.kind, ret_total);
}

/* Read our own stall. After a failure it is unknown. */
static void read_own_pressure(struct psi *p, uint64_t now)
{
	uint64_t total;

	if (p->own_fd < 0)
		return;
	if (pressure_read(p->own_fd, p->target.kind, &total))
		p->own.n = 0;
	else
		psi_meter__add(&p->own, now, total);
}

/*
 * Would the rule have fired without our part of the stall? Subtract the most that we can have
 * caused: the time for which we wrote dumps or, if less, our own cgroup was stalled.
 */
static bool stall_is_theirs(const struct psi *p, uint64_t now, uint64_t value)
{
	uint64_t window = p->target.window_us * NSEC_PER_USEC, own, stall;

	if (p->theirs)
		return true;
	own = write_times__within(p->writes, now > window ? now - window : 0, now);
	if (p->own_fd >= 0 && p->own.n) {
		stall = psi_meter__stall_at_most(&p->own, window);
		own = stall < own ? stall : own;
	}
	return own < value && value - own >= p->target.threshold_us * NSEC_PER_USEC;
}

/* Explain a failure to open the trigger. The caller puts "psi: ..." before it. */
static int open_error(const struct psi *p, int code, struct err *err)
{
	const struct psi_target *t = &p->target;
	char window[32];

	switch (code) {
	case -ENOENT:
		if (access("/proc/pressure", F_OK))
			return err_set(err, code,
				       "this kernel reports no pressure (/proc/pressure): it needs "
				       "CONFIG_PSI, and psi=1 on its command line where it is off "
				       "by default; or remove this rule");
		return err_set(
			err, code,
			"this kernel reports no pressure of %s: there is no %s; remove this rule",
			t->resource, p->path);
	case -EOPNOTSUPP:
		return err_set(err, code,
			       "pressure is switched off: boot with psi=1, or write 1 to "
			       "cgroup.pressure of that cgroup");
	case -EACCES:
		return err_set(err, code,
			       "%s: no permission to write to it, which takes CAP_DAC_OVERRIDE",
			       p->path);
	case -EPERM:
		return err_set(err, code,
			       "%s: no permission to set a trigger: this kernel requires "
			       "CAP_SYS_RESOURCE for it",
			       p->path);
	case -EINVAL:
		if (t->window_us % 2000000)
			return err_set(err, code,
				       "the kernel refuses a window of %s: without "
				       "CAP_SYS_RESOURCE only multiples of 2s are allowed, such as "
				       "'in 2s', because others need a kernel thread",
				       units__format_duration(t->window_us * NSEC_PER_USEC, window,
							      sizeof(window)));
		break;
	}
	return err_set(err, code, "%s: %s", p->path, strerror(-code));
}

/* Open a trigger; a descriptor can have one. O_NONBLOCK as in the kernel's psi.rst. */
static int open_trigger(const struct psi *p, uint64_t threshold_us)
{
	RAISED_RIGHTS(RIGHTS_FILES); /* the file may belong to another user, and is written to */
	_cleanup_close_ int fd = open(p->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	char text[64];
	int n;

	if (fd < 0)
		return -errno;
	n = snprintf(text, sizeof(text), "%s %" PRIu64 " %" PRIu64, p->target.kind, threshold_us,
		     p->target.window_us);
	if (write(fd, text, n + 1) < 0) /* with its NUL */
		return -errno;
	return TAKE_FD(fd);
}

static void on_rule(void *arg, uint32_t events);
static void on_psi_early(void *arg, uint32_t events);

static void psi_unwatch(struct psi *p)
{
	int *const fds[] = { &p->rule_fd, &p->early_fd };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] < 0)
			continue;
		listener__remove(p->listener, *fds[i]);
		close(*fds[i]);
		*fds[i] = -1;
	}
}

static int psi_watch(struct psi *p)
{
	uint64_t early = p->target.threshold_us / EARLY, total;
	int err;

	p->meter.n = p->own.n = 0;
	read_own_pressure(p, now_ns());
	p->rule_fd = open_trigger(p, p->target.threshold_us);
	if (p->rule_fd < 0)
		return p->rule_fd;
	err = psi_read(p, &total);
	if (!err) {
		psi_meter__add(&p->meter, now_ns(), total);
		p->early_fd = open_trigger(p, early ? early : 1);
		err = p->early_fd < 0 ? p->early_fd : 0;
	}
	err = err ?: listener__add(p->listener, p->rule_fd, EPOLLPRI, on_rule, p);
	err = err ?: listener__add(p->listener, p->early_fd, EPOLLPRI, on_psi_early, p);
	if (err)
		psi_unwatch(p);
	return err;
}

static void set_retry(struct psi *p, uint64_t ns)
{
	struct itimerspec its = { 0 };

	its.it_value.tv_sec = its.it_interval.tv_sec = ns / NSEC_PER_SEC;
	timerfd_settime(p->retry_fd, 0, &its, NULL);
}

static void on_retry(void *arg, uint32_t events)
{
	struct psi *p = arg;
	uint64_t n;

	if (read(p->retry_fd, &n, sizeof(n)) < 0)
		return;
	if (p->closing || !psi_watch(p))
		set_retry(p, 0);
}

/* The cgroup was removed, which ends its triggers. A restarted service gets a new cgroup. */
static void psi_lost_cgroup(struct psi *p)
{
	psi_unwatch(p);
	set_retry(p, RETRY_NS);
}

static bool take_reading(struct psi *p, uint32_t events, uint64_t *ret_now)
{
	uint64_t total;

	if (events & EPOLLERR) {
		psi_lost_cgroup(p);
		return false;
	}
	*ret_now = now_ns();
	if (!(events & EPOLLPRI) || psi_read(p, &total))
		return false;
	read_own_pressure(p, *ret_now);
	psi_meter__add(&p->meter, *ret_now, total);
	return true;
}

static void on_psi_early(void *arg, uint32_t events)
{
	uint64_t now;

	take_reading(arg, events, &now);
}

static void on_rule(void *arg, uint32_t events)
{
	struct psi *p = arg;
	struct frbpf_event e = { .time = 0 };
	int cpu = sched_getcpu();

	if (!take_reading(p, events, (uint64_t *)&e.time))
		return;
	e.value = psi_meter__stall(&p->meter, p->target.window_us * NSEC_PER_USEC,
				   p->target.threshold_us * NSEC_PER_USEC);
	e.cpu = cpu < 0 ? 0 : cpu;
	e.theirs = stall_is_theirs(p, e.time, e.value);
	inject__event(p->inject, &e);
}

static int find_psi_path(struct psi *p)
{
	char mount[PATH_MAX];
	int err;

	if (!p->target.cgroup[0]) {
		snprintf(p->path, sizeof(p->path), "/proc/pressure/%s", p->target.resource);
		return 0;
	}
	err = cgroup__mount_point(mount, sizeof(mount));
	if (!err)
		snprintf(p->path, sizeof(p->path), "%s%s/%s.pressure", mount, p->target.cgroup,
			 p->target.resource);
	return err;
}

/*
 * Is our cgroup in that of the target, so that the target includes our stall? Then open our own
 * pressure. No file has ours alone if we are in the root cgroup, or in the target itself.
 */
static void find_own_pressure(struct psi *p)
{
	char own[PATH_MAX], mount[PATH_MAX], path[3 * PATH_MAX];

	if (cgroup__own(own, sizeof(own)))
		return;
	p->theirs = p->target.cgroup[0] && !cgroup__is_below(own, p->target.cgroup);
	if (p->theirs || !strcmp(own, "/") || !strcmp(own, p->target.cgroup) ||
	    cgroup__mount_point(mount, sizeof(mount)))
		return;
	snprintf(path, sizeof(path), "%s%s/%s.pressure", mount, own, p->target.resource);
	p->own_fd = open(path, O_RDONLY | O_CLOEXEC);
}

/*
 * Cgroups are not checked: they may be created later. Whether the kernel accepts the trigger is
 * checked as root only. Others check rules for a daemon that runs as root.
 */
static int psi_check(enum frbpf_source source, const char *target, struct err *err)
{
	struct psi p = { 0 };
	int code = psi_target__parse(target, &p.target), fd;

	if (code || p.target.cgroup[0])
		return code;
	code = find_psi_path(&p);
	if (!code && access(p.path, F_OK))
		code = -errno;
	if (!code && !geteuid()) {
		fd = open_trigger(&p, p.target.threshold_us);
		if (fd < 0)
			code = fd;
		else
			close(fd);
	}
	return code ? open_error(&p, code, err) : 0;
}

static int psi_load(struct source *s, const struct source_env *env)
{
	struct psi *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	s->skel = p;
	p->rule_fd = p->early_fd = p->retry_fd = p->own_fd = -1;
	p->listener = env->listener;
	p->writes = env->writes;
	err = psi_target__parse(s->target, &p->target);
	err = err ?: inject__load(s, env, &p->inject);
	if (err)
		return err;
	err = find_psi_path(p);
	if (err)
		return err_set(s->err, err, "no cgroup2 file system is mounted here");
	find_own_pressure(p);
	return 0;
}

/* Is only the cgroup missing? Then it may be created later. */
static bool cgroup_may_come(const struct psi *p)
{
	char root[2 * PATH_MAX];

	if (!p->target.cgroup[0] || cgroup__mount_point(root, PATH_MAX))
		return false;
	snprintf(root + strlen(root), PSI_WORD_MAX + 16, "/%s.pressure", p->target.resource);
	return !access(root, R_OK);
}

static int psi_attach(struct source *s)
{
	struct psi *p = s->skel;
	int err;

	/* the timer always stays: an @fn must not remove the last descriptor of the listener */
	p->retry_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (p->retry_fd < 0)
		return -errno;
	err = listener__add(p->listener, p->retry_fd, EPOLLIN, on_retry, p);
	if (err)
		return err;
	listener__pause(p->listener);
	err = psi_watch(p);
	if (err == -ENOENT && cgroup_may_come(p)) {
		set_retry(p, RETRY_NS);
		err = 0;
	}
	listener__resume(p->listener);
	return err ? open_error(p, err, s->err) : 0;
}

static void psi_free(struct source *s)
{
	struct psi *p = s->skel;

	if (!p)
		return;
	if (p->retry_fd >= 0) {
		listener__pause(p->listener);
		p->closing = true;
		psi_unwatch(p);
		listener__resume(p->listener);
		listener__remove(p->listener, p->retry_fd);
		close(p->retry_fd);
	}
	inject__free(p->inject);
	if (p->own_fd >= 0)
		close(p->own_fd);
	free(p);
}

const struct source_ops source_psi = {
	.source = FRBPF_SOURCE_PSI,
	.name = "psi",
	.elf = inject__elf,
	.check = psi_check,
	.load = psi_load,
	.attach = psi_attach,
	.free = psi_free,
};
