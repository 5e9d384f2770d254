/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches for CPUs that come and go. The kernel sends uevents, but not in every container, nor
 * after a suspend. So a thread that wakes up anyway also compares. A change is reported without
 * details: read the kernel's list then. Life: open, read whenever the descriptor is readable,
 * free.
 */
#ifndef FRBPF_COMMON_CPU_WATCH_H
#define FRBPF_COMMON_CPU_WATCH_H

#include <stdbool.h>
#include <stddef.h>

struct cpu_watch;

int cpu_watch__open(struct cpu_watch **ret); /* negative errno */
int cpu_watch__fd(const struct cpu_watch *w);
/* Did CPUs come or go, or may they have? Clears the mark. */
bool cpu_watch__read(struct cpu_watch *w);
/*
 * Compare the list of CPUs and the time spent suspended with the last time. If they differ, the
 * descriptor becomes readable. For one thread, not necessarily that of the reader.
 */
void cpu_watch__compare(struct cpu_watch *w);
/* Make the descriptor readable. For any thread. */
void cpu_watch__notify(struct cpu_watch *w);
void cpu_watch__free(struct cpu_watch *w);

/* Is this uevent (ACTION@PATH, then KEY=VALUE, each with a NUL) about a CPU that came or went? */
bool cpu_watch__is_change(const char *message, size_t len);

#endif
