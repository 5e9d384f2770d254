/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds out whether the kernel may be asked for build ids. */
#ifndef FRBPF_SIDEBAND_BUILD_ID_PROBE_H
#define FRBPF_SIDEBAND_BUILD_ID_PROBE_H

#include <stdbool.h>

/*
 * Does this kernel put build ids into the MMAP2 records of only those events that ask for them
 * (attr.build_id)? The probe opens events on the calling thread. False also if that is not
 * allowed, or if this program has no build id to test with.
 *
 * Before upstream b9d1fdc6f4ac ("perf: Replace perf_event_header__init_id with full header init",
 * in 6.12.113), perf_event_mmap_output() sets PERF_RECORD_MISC_MMAP_BUILD_ID in a header that
 * events share, and never clears it. Events opened before the one that asks then get MMAP2 records
 * that claim a build id but hold none. `perf record` aborts on such records. So the probe maps a
 * file readable, not executable. This thread may have inherited events (`perf record -- frbpf
 * load`); of these, only those of `perf record -d` see such maps.
 */
bool build_id_probe__is_clean(void);

#endif
