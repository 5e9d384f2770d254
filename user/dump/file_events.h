/* SPDX-License-Identifier: GPL-2.0-only */
/* The attributes of a session's file: the events of the session, the markers, and the side band. */
#ifndef FRBPF_DUMP_FILE_EVENTS_H
#define FRBPF_DUMP_FILE_EVENTS_H

#include <stdint.h>

#include "perfdata/writer.h"
#include "record/session.h"

#define FILE_EVENTS_FED	  4			/* events whose samples a BPF program writes */
#define FILE_EVENTS_EXTRA (FILE_EVENTS_FED + 5) /* off CPU, trigger, begin, gap, side band */

struct file_events {		     /* { 0 } is legal to free. It must not move */
	struct perfdata_attr *attrs; /* owned */
	size_t n;
	/* private */
	struct perfdata_format *formats; /* owned */
	/* attributes that differ from those of the session */
	struct perf_event_attr extra[FILE_EVENTS_EXTRA];
	size_t n_extra;
};

/* The event of the side band. Borrowed. */
struct file_tracking {
	const struct perf_event_attr *attr;
	const uint64_t *ids;
	size_t n_ids;
};

/*
 * List the events of a file of @s; @f borrows from the session. @gaps: include the marker for gaps.
 * 0 or -ENOMEM; call file_events__free() in both cases.
 */
int file_events__list(struct file_events *f, const struct session *s,
		      const struct file_tracking *tracking, bool gaps);
void file_events__free(struct file_events *f);

#endif
