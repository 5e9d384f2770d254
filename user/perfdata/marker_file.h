/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the triggers from one of our dumps if its manifest was lost. It does not parse perf.data
 * files in general, but looks for the one event whose layout is ours.
 */
#ifndef FRBPF_PERFDATA_MARKER_FILE_H
#define FRBPF_PERFDATA_MARKER_FILE_H

#include "perfdata/marker.h"

/* A marker in the file. Texts may be cut; missing texts are "". */
struct marker_found {
	struct marker_trigger text; /* valid only during the call */
	uint64_t time;		    /* ns, CLOCK_MONOTONIC of the boot that recorded it */
	uint64_t realtime_offset;   /* CLOCK_REALTIME - CLOCK_MONOTONIC then, ns; 0: unknown */
	uint32_t cpu;
};

/* Non-zero ends the search. */
typedef int (*marker_found_fn)(const struct marker_found *m, void *arg);

/*
 * Call @fn for each frbpf:trigger in the file @fd, in file order. The position of @fd is unchanged.
 * 0; the result of @fn; -EBADMSG: not one of our files, or incomplete; or the errno of the read.
 */
int marker_file__triggers(int fd, marker_found_fn fn, void *arg);

#endif
