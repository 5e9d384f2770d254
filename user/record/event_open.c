// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "admin/admin.h"
#include "common/cgroup_mount.h"
#include "common/cleanup.h"
#include "record/event_attr.h"
#include "record/event_list.h"
#include "record/privilege.h"

/* Where an event counts; see perf_event_open(2). */
struct place {
	pid_t pid; /* -1: all tasks; with PERF_FLAG_PID_CGROUP a descriptor */
	int cpu;
	unsigned long flags;
	int group_fd; /* -1: none */
};

static int sys_open(struct perf_event_attr *attr, const struct place *at)
{
	int fd;

	if (at->group_fd < 0)
		return admin__open_event(attr, at->pid, at->cpu, at->flags);
	fd = syscall(SYS_perf_event_open, attr, at->pid, at->cpu, at->group_fd,
		     PERF_FLAG_FD_CLOEXEC | at->flags);
	return fd < 0 ? -errno : fd;
}

/* Lower the precision of :P until the PMU accepts it. On failure the attr is unchanged. */
static int open_precise(struct event *ev, const struct place *at)
{
	unsigned int precise = ev->attr.precise_ip;
	int first = sys_open(&ev->attr, at), fd = first;

	while (fd < 0 && ev->precise_max && ev->attr.precise_ip) {
		ev->attr.precise_ip--;
		fd = sys_open(&ev->attr, at);
	}
	if (fd >= 0)
		return fd;
	ev->attr.precise_ip = precise;
	return first;
}

#define SAMPLE_PAGE_SIZES (PERF_SAMPLE_DATA_PAGE_SIZE | 1ULL << 23) /* and code pages */

/*
 * Drop the next field that this kernel may not know, in perf's order. False: nothing is left to
 * drop.
 */
static bool drop_feature(struct perf_event_attr *attr)
{
	if (attr->read_format & PERF_FORMAT_LOST) { /* 6.0 */
		attr->read_format &= ~(__u64)PERF_FORMAT_LOST;
		return true;
	}
	if (attr->sample_type & SAMPLE_WEIGHT_STRUCT) { /* 5.12 */
		attr->sample_type &= ~SAMPLE_WEIGHT_STRUCT;
		attr->sample_type |= PERF_SAMPLE_WEIGHT;
		return true;
	}
	if (attr->sample_type & SAMPLE_PAGE_SIZES) { /* 5.11 */
		attr->sample_type &= ~SAMPLE_PAGE_SIZES;
		return true;
	}
	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) { /* 5.7 */
		attr->branch_sample_type &= ~(__u64)PERF_SAMPLE_BRANCH_HW_INDEX;
		return true;
	}
	if (attr->exclude_guest || attr->exclude_host) { /* 3.2, and not every PMU */
		attr->exclude_guest = attr->exclude_host = 0;
		return true;
	}
	return false;
}

static int open_dropping(struct event *ev, const struct place *at)
{
	const struct perf_event_attr before = ev->attr;
	int fd = open_precise(ev, at);

	while (fd == -EINVAL && drop_feature(&ev->attr))
		fd = open_precise(ev, at);
	if (fd < 0)
		ev->attr = before;
	return fd;
}

static bool is_missing_event(int err)
{
	return err == -ENOENT || err == -ENODEV || err == -ENXIO || err == -EOPNOTSUPP;
}

/* Sample by a timer if there are no cycles, as perf does. On failure @ev is unchanged. */
static int open_cpu_clock(struct event *ev, const struct place *at, const char **ret_notice)
{
	const struct perf_event_attr before = ev->attr;
	char modifiers[16], *name;
	int fd;

	if (asprintf(&name, "cpu-clock%s",
		     event_attr__modifiers(&ev->attr, modifiers, sizeof(modifiers))) < 0)
		return -ENOMEM;
	ev->attr.type = PERF_TYPE_SOFTWARE;
	ev->attr.config = PERF_COUNT_SW_CPU_CLOCK;
	fd = open_dropping(ev, at);
	if (fd < 0) {
		ev->attr = before;
		free(name);
		return fd;
	}
	free(ev->name);
	ev->name = name;
	ev->cycles_fallback = false;
	if (ret_notice)
		*ret_notice = "cycles: not available on this machine (no hardware PMU, common in "
			      "virtual machines): using cpu-clock";
	return fd;
}

/* EINVAL has many causes: does the kernel lack what every event of frbpf uses? */
static bool perf_too_old(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = PERF_ATTR_SIZE_VER7,
		.sample_period = 1,
		.disabled = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.write_backward = 1,
	};
	_cleanup_close_ int fd = sys_open(&attr, &(struct place){ .cpu = -1, .group_fd = -1 });

	return fd == -EINVAL || fd == -E2BIG;
}

static const struct {
	int error;
	const char *text;
} causes[] = {
	{ ENOENT, "this machine has no such event (a virtual machine often has no hardware PMU): "
		  "use cpu-clock" },
	{ ENODEV, "this CPU is offline, or its PMU has no such event" },
	{ ENXIO, "this machine has no such event" },
	{ EBUSY, "the PMU is taken: by another profiler, or by the NMI watchdog "
		 "(kernel.nmi_watchdog=0 frees it)" },
	{ EOPNOTSUPP,
	  "the PMU cannot sample this event, or not this precisely: use cpu-clock, or remove :p" },
	{ EOVERFLOW, "the stack depth is above the limit: raise kernel.perf_event_max_stack" },
	{ EMFILE, "too many open files" },
	{ ENFILE, "the system has too many open files: raise fs.file-max" },
	{ ENOMEM, "out of memory" },
	{ ESRCH, "the thread has ended" },
	{ EBADF, "not a cgroup that the kernel's perf events know: it must be of cgroup2, and the "
		 "kernel built with CONFIG_CGROUP_PERF" },
	{ E2BIG, "this kernel is too old: clockid and overwritable rings need 4.7" },
	{ ENOSYS, "this kernel was built without perf events (CONFIG_PERF_EVENTS)" },
};

/* Find the reason for EINVAL, which has many causes. */
static const char *explain_invalid(const struct event *ev)
{
	if (perf_too_old())
		return "this kernel is too old: clockid and overwritable rings need 4.7";
	if (ev->attr.type == PERF_TYPE_TRACEPOINT)
		return "the kernel does not give this tracepoint to perf (of the system ftrace, "
		       "only a few), or "
		       "it is gone";
	return "the PMU refuses these settings: can it sample, and is the config right?";
}

static int explain_open_failure(const struct event *ev, int cpu, int code, struct err *err)
{
	const char *text = strerror(-code);
	struct rlimit files = { 0 };

	if (code == -EACCES || code == -EPERM)
		return err_set(err, code,
			       "%s: no permission (kernel.perf_event_paranoid is %ld): run as "
			       "root, or with "
			       "CAP_PERFMON (before Linux 5.8: CAP_SYS_ADMIN)",
			       ev->name, sysctl__kernel("perf_event_paranoid", 2));
	if (code == -EMFILE && !getrlimit(RLIMIT_NOFILE, &files))
		return err_set(err, code,
			       "%s: too many open files (every event takes one per CPU; the limit "
			       "is %llu): raise "
			       "it with ulimit -n, or LimitNOFILE= of the systemd unit, or record "
			       "fewer events",
			       ev->name, (unsigned long long)files.rlim_cur);
	if (code == -EINVAL)
		text = explain_invalid(ev);
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
		if (causes[i].error == -code)
			text = causes[i].text;
	if (code == -EOPNOTSUPP && ev->attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
		text = "this machine's PMU has no history of branches for this event: remove -b, "
		       "-j "
		       "and lbr";
	return err_set(err, code, "%s on CPU %d: %s", ev->name, cpu, text);
}

static int open_event_at(struct event *ev, const struct place *at, struct err *err,
			 const char **ret_notice)
{
	int fd = open_dropping(ev, at);

	if (ev->cycles_fallback && is_missing_event(fd))
		fd = open_cpu_clock(ev, at, ret_notice);
	return fd >= 0 ? fd : explain_open_failure(ev, at->cpu, fd, err);
}

int event__open(struct event *ev, int cpu, struct err *err, const char **ret_notice)
{
	return open_event_at(ev, &(struct place){ .pid = -1, .cpu = cpu, .group_fd = -1 }, err,
			     ret_notice);
}

static int set_event_filter(const struct event *ev, int fd, struct err *err)
{
	int code;

	if (!ev->filter || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, ev->filter) == 0)
		return fd;
	code = -errno;
	close(fd);
	return err_set(err, code, "%s: the kernel refuses the filter '%s': %s", ev->name,
		       ev->filter,
		       code == -EINVAL ? "see the fields of `frbpf events -v`, and the kernel's "
					 "Documentation/trace/events.rst for the grammar"
				       : strerror(-code));
}

int event__open_for(struct event *ev, const struct record_target *target, size_t i, int cpu,
		    int group_fd, struct err *err, const char **ret_notice)
{
	struct place at = { .pid = -1, .cpu = cpu, .group_fd = group_fd };
	int fd;

	if (ev->off_cpu) {
		at.pid = -1;
	} else if (ev->cgroup_fd >= 0) {
		at.pid = ev->cgroup_fd;
		at.flags = PERF_FLAG_PID_CGROUP;
	} else if (target->kind == RECORD_TASKS) {
		at.pid = target->tids[i];
	} else if (target->kind == RECORD_CGROUP) {
		at.pid = target->cgroup_fd;
		at.flags = PERF_FLAG_PID_CGROUP;
	}
	fd = open_event_at(ev, &at, err, ret_notice);
	return fd < 0 ? fd : set_event_filter(ev, fd, err);
}

int event_cgroup__open(const char *name, struct err *err)
{
	char mount[PATH_MAX], path[2 * PATH_MAX];
	int fd;

	if (cgroup__mount_point(mount, sizeof(mount)))
		return err_set(err, -ENOENT, "cgroup '%s': no cgroup2 file system is mounted here",
			       name);
	snprintf(path, sizeof(path), "%s/%s", mount, name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_set(err, -errno, "cgroup '%s': %s", name, strerror(errno)) : fd;
}

int event_list__open_cgroups(struct event_list *l, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		struct event *ev = &l->v[i];

		if (!ev->cgroup || ev->cgroup_fd >= 0)
			continue;
		ev->cgroup_fd = event_cgroup__open(ev->cgroup, err);
		if (ev->cgroup_fd < 0)
			return ev->cgroup_fd;
	}
	return 0;
}
