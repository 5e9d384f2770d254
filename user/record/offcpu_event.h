/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event offcpu-time of --off-cpu. A BPF program writes struct frbpf_off_cpu into the rings, in
 * samples of the task that is switched out. In files, these become samples of the task that slept,
 * as in perf record. Their period is the time off CPU, ns; their callchain is where it slept.
 */
#ifndef FRBPF_RECORD_OFFCPU_EVENT_H
#define FRBPF_RECORD_OFFCPU_EVENT_H

#include "common/buf.h"
#include "record/session.h"

#define OFF_CPU_EVENT "offcpu-time" /* as perf names it */

/* Turn @line, the attr that the options @o give to any event, into that of offcpu-time in rings. */
void offcpu_event__init_attr(const struct record_opts *o, struct perf_event_attr *line,
			     struct off_cpu_opts *ret_opts);

/* The fields that samples of @ev have in files: PERF_SAMPLE_*. */
uint64_t event__file_fields(const struct event *ev);

/*
 * Convert the samples of offcpu-time in @v to the layout of files. @v are copies of records of CPU
 * number @c; they are changed in place, and do not grow. Samples get the ids of
 * session__event_ids(). Torn ones are dropped. Returns the new number of records.
 */
size_t offcpu_event__unpack(const struct session *s, size_t c, const struct perf_event_header **v,
			    size_t n);

/*
 * Cut sleeps that had not ended at @end (ns), but were long enough by then: set the time of their
 * samples to @end. @v: records after offcpu_event__unpack().
 */
void offcpu_event__cut(const struct session *s, size_t c, const struct perf_event_header **v,
		       size_t n, uint64_t end);

/*
 * Make samples of tasks that still sleep. @asleep: struct frbpf_asleep, one after the other; those
 * of CPUs that @s does not record are left out. @end: time of the samples, ns. Each sample is added
 * to @ret, and the number of its CPU in @s, a size_t, to @cpus. 0 or -ENOMEM.
 */
int offcpu_event__add_asleep(const struct session *s, const struct buf *asleep, uint64_t end,
			     struct buf *ret, struct buf *cpus);

/* When the sleep began, ns. @h: a sample after offcpu_event__unpack(). */
uint64_t offcpu_event__began(const struct perf_event_header *h);

#endif
