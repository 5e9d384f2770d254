/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events of a session on this kernel: items of -e resolved to perf_event_attr, globs expanded,
 * tracepoint formats read. Attributes are those that perf record makes of the same line, with the
 * differences that a flight recorder needs (listed in event_attr.c at event_attr__finish()).
 */
#ifndef FRBPF_RECORD_EVENT_LIST_H
#define FRBPF_RECORD_EVENT_LIST_H

#include <linux/perf_event.h>

#include "perfdata/record.h"
#include "record/record_opts.h"
#include "record/record_target.h"
#include "record/tracefs.h"

struct event {
	struct perf_event_attr attr;
	char *name;	       /* as perf shows it; owned */
	struct span span;      /* the item it came from */
	struct tracepoint *tp; /* PERF_TYPE_TRACEPOINT only; owned */
	size_t leader;	       /* of its group in the list; itself, if it is in none */
	char *group_name;      /* of a leader; NULL: none. Owned */
	bool weak;	       /* of a leader: the group may be dissolved */
	bool own_rate;	       /* by a term */
	char *filter;	       /* of a tracepoint, for the kernel; NULL: none. Owned */
	char *cgroup;	       /* below the mount of cgroup2; NULL: the session's target. Owned */
	int cgroup_fd;	       /* of it, once it is open; -1. Owned */
	bool precise_max;      /* :P - precise_ip may be lowered */
	bool cycles_fallback;  /* may become cpu-clock when the PMU lacks cycles */
};

struct event_list {
	struct event *v; /* owned */
	size_t n;
	size_t left_out; /* tracepoint items that were not looked up */
};

/* Resolve @opts, whose spans point into @src. @tracefs may be NULL when no item is a tracepoint:
 * then one that is gets an error. Unknown events get the nearest known name. 0, -EINVAL (see @d) or
 * -ENOMEM. */
int event_list__resolve(const struct record_opts *opts, const struct source_text *src,
			struct tracefs *tracefs, struct diags *d, struct event_list **ret);
/* The same without tracefs, for those who only check: tracepoints are left out and counted. */
int event_list__resolve_partly(const struct record_opts *opts, const struct source_text *src,
			       struct diags *d, struct event_list **ret);
void event_list__free(struct event_list *l);

/*
 * Bytes per second that one busy CPU writes at most and at least: known when every event samples at
 * a frequency; the bounds differ by the length of callchains. False: some event samples by hits or
 * by a period, and only time will tell.
 */
bool event_list__rate(const struct event_list *l, uint64_t *ret_most, uint64_t *ret_least);

/* Open the cgroups that events name. Negative errno with words in @err. */
int event_list__open_cgroups(struct event_list *l, struct err *err);

/* Have @leader of a group and what follows it go on without it: the PMU has no room for all. */
void event_list__dissolve(struct event_list *l, size_t leader);

/* Open @ev on @cpu (all tasks), disabled, with what the kernel takes: fields that this kernel lacks
 * are dropped in perf's order (perf-data section 10.6) and stay dropped in ev->attr, so that all
 * CPUs agree; cycles falls back to cpu-clock, which @ret_notice (may be NULL) says, in words for
 * the user, once. Returns the fd, or negative errno with the reason and the remedy in @err. */
int event__open(struct event *ev, int cpu, struct err *err, const char **ret_notice);
/* The same for the @i-th of @target, as a member of the group of @group_fd, -1 for none; an event of
 * a thread is inherited by what it forks. -ESRCH: the thread has ended. */
int event__open_for(struct event *ev, const struct record_target *target, size_t i, int cpu,
		    int group_fd, struct err *err, const char **ret_notice);

#endif
