/* SPDX-License-Identifier: GPL-2.0-only */
/* Nanoseconds of the clocks that frbpf uses, and dates. */
#ifndef FRBPF_COMMON_CLOCK_H
#define FRBPF_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* CLOCK_MONOTONIC: the clock of bpf_ktime_get_ns(), of every event and of every deadline. */
static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* The time between @a and @b, whichever is first. */
static inline uint64_t ns_between(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* UTC, for files that programs read. */
#define UTC_DATE_SIZE 32

/* "2026-11-21T06:35:00", of CLOCK_REALTIME in ns. Returns @buf. */
const char *utc__date(uint64_t realtime_ns, char buf[UTC_DATE_SIZE]);

#endif
