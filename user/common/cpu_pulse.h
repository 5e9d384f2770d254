/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tells whether the perf events of a CPU still record. When a CPU goes off line, the kernel
 * detaches its events for good. Only their enabled time shows that.
 */
#ifndef FRBPF_COMMON_CPU_PULSE_H
#define FRBPF_COMMON_CPU_PULSE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Attributes of an event that records nothing. On a CPU it lives as long as other events that were
 * opened there at the same time.
 */
extern const struct perf_event_attr cpu_pulse_attr;

/*
 * Does the event @fd still record? It does if its time has advanced since *seen, which is updated;
 * 0: not read before. For an event that is polled; costs an interrupt.
 */
bool cpu_pulse__beats(int fd, uint64_t *seen);

/*
 * Is the event @fd alive? It is enabled and has the read format TOTAL_TIME_ENABLED. If it is dead,
 * *ret_ns is its enabled time. Reading interrupts the CPU. One that cannot be read counts as alive.
 */
bool cpu_pulse__is_alive(int fd, uint64_t *ret_ns);

#endif
