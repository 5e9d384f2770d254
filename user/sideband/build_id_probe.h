/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FRBPF_SIDEBAND_BUILD_ID_PROBE_H
#define FRBPF_SIDEBAND_BUILD_ID_PROBE_H

#include <stdbool.h>

/*
 * Does this kernel put build ids into the MMAP2 records of those events that ask for them
 * (attr.build_id), and leave the records of all others alone? Tried out on the calling thread. False
 * also where that is not allowed, or when this program has no build id to try with.
 *
 * Until upstream b9d1fdc6f4ac ("perf: Replace perf_event_header__init_id with full header init", in
 * 6.12.113) perf_event_mmap_output() sets PERF_RECORD_MISC_MMAP_BUILD_ID in a header that events
 * share, and does not take it back: every event opened before the one that asks gets MMAP2 records
 * that say build id and hold none, and `perf record` aborts over them. So the trial is a map that is
 * read and not executed: of all events this thread may have inherited (`perf record -- frbpf load`),
 * only those of `perf record -d` hear of such maps.
 */
bool build_id_probe__is_clean(void);

#endif
