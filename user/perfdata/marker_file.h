/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The triggers that a dump of ours says of itself, for one whose manifest was lost. No reader of perf.data
 * files: it looks for the one event whose layout is our own.
 */
#ifndef FRBPF_PERFDATA_MARKER_FILE_H
#define FRBPF_PERFDATA_MARKER_FILE_H

#include "perfdata/marker.h"

/* A marker as it stands in the file. Texts may have been cut; those that are not there are "". */
struct marker_found {
	struct marker_trigger text; /* borrowed from here */
	uint64_t time;		    /* ns, CLOCK_MONOTONIC of the boot that recorded it */
	uint64_t realtime_offset;   /* CLOCK_REALTIME - CLOCK_MONOTONIC then, ns; 0: not known */
	uint32_t cpu;
};

/* Anything but 0 ends the search. */
typedef int (*marker_found_fn)(const struct marker_found *m, void *arg);

/* Call @fn for each frbpf:trigger of the file @fd, in the order of the file; @fd's position stays. 0, what @fn said,
 * -EBADMSG: no whole file of ours; or negative errno of reading. */
int marker_file__triggers(int fd, marker_found_fn fn, void *arg);

#endif
