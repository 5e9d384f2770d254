/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events of a session on this kernel: items of -e become perf_event_attr, globs are expanded,
 * and tracepoint formats are read. Attributes are those that perf record sets for the same line,
 * with the differences that a flight recorder needs: see event_attr__finish().
 */
#ifndef FRBPF_RECORD_EVENT_LIST_H
#define FRBPF_RECORD_EVENT_LIST_H

#include <linux/perf_event.h>

#include "common/tracefs.h"
#include "perfdata/record.h"
#include "record/record_opts.h"
#include "record/record_target.h"

struct event {
	struct perf_event_attr attr;
	char *name;	       /* as perf shows it; owned */
	struct span span;      /* the item that it came from */
	struct tracepoint *tp; /* PERF_TYPE_TRACEPOINT only; owned */
	size_t leader;	       /* index of the group's leader; its own index if it is in no group */
	char *group_name;      /* leader only; NULL: no name. Owned */
	bool weak;	       /* leader only: the group may be dissolved */
	bool own_rate;	       /* a term sets its period or frequency */
	char *filter;	       /* tracepoint only, for the kernel; NULL: none. Owned */
	/* path below the mount of cgroup2; NULL: the session's target. Owned */
	char *cgroup;
	int cgroup_fd;	      /* its descriptor; -1: not open. Owned */
	bool precise_max;     /* :P - precise_ip may be lowered */
	bool cycles_fallback; /* may become cpu-clock if the PMU lacks cycles */
	bool off_cpu;	      /* offcpu-time, for all tasks: see offcpu_event.h */
};

struct off_cpu_opts {
	bool wanted; /* the last event is that of --off-cpu */
	/*
	 * `sampled`: a bpf-output event is called offcpu-time, which samples short sleeps, too;
	 * `sampled_event`: index of the last event of this name
	 */
	bool sampled;
	size_t sampled_event;
	uint64_t least_ns;
	bool inherits; /* tasks started by recorded tasks are recorded, too */
};

struct event_list {
	struct event *v; /* owned */
	size_t n;
	size_t left_out; /* number of tracepoint items that were not looked up */
	bool data_maps;	 /* -d: addresses of data need the maps of data */
	bool plain;	 /* see event_list__set_plain() */
	struct off_cpu_opts off_cpu;
};

/*
 * Resolve @opts, whose spans point into @src. @tracefs may be NULL; then any tracepoint is an
 * error. The error for an unknown event suggests the nearest known name. 0, -EINVAL (see @d) or
 * -ENOMEM.
 */
int event_list__resolve(const struct record_opts *opts, const struct source_text *src,
			struct tracefs *tracefs, struct diags *d, struct event_list **ret);
/* The same for checks without tracefs: tracepoints are left out and counted. */
int event_list__resolve_partly(const struct record_opts *opts, const struct source_text *src,
			       struct diags *d, struct event_list **ret);
void event_list__free(struct event_list *l);

/*
 * Estimate the bytes per second that one busy CPU writes, at most and at least. Callchains of
 * different length make the difference. False: unknown, as some event samples by hits or by a
 * period.
 */
bool event_list__rate(const struct event_list *l, uint64_t *ret_most, uint64_t *ret_least);

/*
 * Let the rings of the session be drained instead of overwritten, for a file that is written all
 * the time. Call it before events are opened.
 */
void event_list__set_plain(struct event_list *l);

/*
 * Open a cgroup by its path below the mount of cgroup2. Returns a descriptor, or negative errno
 * with a message in @err.
 */
int event_cgroup__open(const char *name, struct err *err);

/* Open the cgroups that events name. 0 or negative errno with a message in @err. */
int event_list__open_cgroups(struct event_list *l, struct err *err);

/* Dissolve the group of @leader into single events: the PMU has no room for the whole group. */
void event_list__dissolve(struct event_list *l, size_t leader);

/*
 * Open @ev on @cpu for all tasks, disabled. Fields that this kernel lacks are dropped in perf's
 * order. They stay dropped in ev->attr, so that all CPUs agree. If cycles falls back to cpu-clock,
 * *ret_notice says so to the user, once; it may be NULL. Returns the descriptor, which the caller
 * closes, or negative errno with the reason and the remedy in @err.
 */
int event__open(struct event *ev, int cpu, struct err *err, const char **ret_notice);
/*
 * The same for the @i-th thread of @target, as a member of the group of @group_fd; -1: no group.
 * Children of the thread inherit the event. -ESRCH: the thread has ended.
 */
int event__open_for(struct event *ev, const struct record_target *target, size_t i, int cpu,
		    int group_fd, struct err *err, const char **ret_notice);

#endif
