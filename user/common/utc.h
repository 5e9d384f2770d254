/* SPDX-License-Identifier: GPL-2.0-only */
/* UTC times for files that programs read. */
#ifndef FRBPF_COMMON_UTC_H
#define FRBPF_COMMON_UTC_H

#include <stdint.h>

#define UTC_DATE_SIZE 32

/* "2026-11-21T06:35:00", of CLOCK_REALTIME in ns. Returns @buf. */
const char *utc__date(uint64_t realtime_ns, char buf[UTC_DATE_SIZE]);

#endif
