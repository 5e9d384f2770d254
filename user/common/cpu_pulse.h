/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the perf events of a CPU still record: once it goes off line they are detached for good,
 * and only their time tells.
 */
#ifndef FRBPF_COMMON_CPU_PULSE_H
#define FRBPF_COMMON_CPU_PULSE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* Of an event that records nothing. Opened on a CPU, it lives as long as others that are opened there then. */
extern const struct perf_event_attr cpu_pulse_attr;

/* The same of one that is asked again and again, with one interrupt: has it gone on since *seen? Which is
 * set; 0: it was never seen. */
bool cpu_pulse__beats(int fd, uint64_t *seen);

/* Is @fd alive? It is an event that is enabled, with the read format TOTAL_TIME_ENABLED. If not,
 * *ret_ns is how long it was. Asking interrupts the CPU. One that cannot be asked is. */
bool cpu_pulse__is_alive(int fd, uint64_t *ret_ns);

#endif
