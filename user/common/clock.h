/* SPDX-License-Identifier: GPL-2.0-only */
/* Nanoseconds of the clocks that frbpf uses. */
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

/* CLOCK_MONOTONIC: that of bpf_ktime_get_ns(), of every event and of every deadline. */
static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
