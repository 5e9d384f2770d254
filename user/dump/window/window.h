/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The content of one file, in order: the records of a session's rings inside the incident's window,
 * what names their addresses, and the markers.
 */
#ifndef FRBPF_DUMP_WINDOW_WINDOW_H
#define FRBPF_DUMP_WINDOW_WINDOW_H

#include "dump/dump.h"
#include "dump/window/markers.h"
#include "dump/window/timeline.h"

struct window {			      /* { 0 } before window__gather() */
	struct timeline timeline;     /* points into the session's copy area and what follows */
	struct sideband_slice *slice; /* owned */
	struct markers markers;
	struct buf asleep;		    /* samples of tasks that sleep at the end; owned */
	uint64_t first_sample, last_sample; /* ns; 0: no sample */
	size_t n_gaps;			    /* markers frbpf:gap */
};

/*
 * Set start, end, asked, complete and short_window of @res: from what the triggers want, and from
 * where the rings of its CPUs are complete. short_window: a ring does not reach back to `asked`.
 */
void window__set_bounds(const struct incident *inc, size_t n_cpus, struct dump_result *res);
/*
 * Bytes of a ring, a power of two, that would have reached back to res->asked at the rate measured
 * with rings of @ring_bytes. 0: these reach back that far, or the session @started (ns) too late.
 */
uint64_t window__ring_needed(const struct dump_result *res, size_t n_cpus, uint64_t started,
			     uint64_t ring_bytes);

/*
 * Gather the window of @job; fills @ret and the CPUs of @res. Call window__free() also on failure.
 * 0 or negative errno with a message in @err.
 */
int window__gather(const struct dump_job *job, struct dump_result *res, struct err *err,
		   struct window *ret);
/* Upper limit of the size of the window's file, bytes: all records, and features. */
uint64_t window__file_bytes(const struct window *win);
void window__free(struct window *win);

#endif
