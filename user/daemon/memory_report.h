/* SPDX-License-Identifier: GPL-2.0-only */
/* What memory the daemon has, as the kernel counts it, and by what it is for. */
#ifndef FRBPF_DAEMON_MEMORY_REPORT_H
#define FRBPF_DAEMON_MEMORY_REPORT_H

#include <jansson.h>

#include "sideband/sideband.h"

/*
 * {"rss_bytes", "anon_bytes", "file_bytes": of /proc/self/status; "rings_bytes": mapped from the kernel,
 * in no process's RSS; "copies_bytes"; "sideband_rings_bytes", "sideband_bytes": log and state of names;
 * "heap_bytes": what malloc() has from the kernel; "used_bytes", "max_bytes": what max-memory is about
 * and what it is}.
 */
json_t *memory_report__json(struct sideband *sb, uint64_t max_memory);

#endif
