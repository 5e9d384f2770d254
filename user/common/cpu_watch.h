/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When CPUs come and go. The kernel tells at once (uevents), but neither in every container nor
 * after a suspend; so a thread that is awake now and then compares, too. Says that something has
 * changed, not what: the kernel's list is read then. Life: open, read as often as the descriptor is
 * readable, free.
 */
#ifndef FRBPF_COMMON_CPU_WATCH_H
#define FRBPF_COMMON_CPU_WATCH_H

#include <stdbool.h>
#include <stddef.h>

struct cpu_watch;

int cpu_watch__open(struct cpu_watch **ret); /* negative errno */
int cpu_watch__fd(const struct cpu_watch *w);
/* True: CPUs came or went, or may have. Clears it. */
bool cpu_watch__read(struct cpu_watch *w);
/* Look whether the list of CPUs or the time spent suspended differs from last time; then the
 * descriptor becomes readable. For one thread, which may be another than the reader's. */
void cpu_watch__compare(struct cpu_watch *w);
/* Make it readable: there is something to look at. For any thread. */
void cpu_watch__notify(struct cpu_watch *w);
void cpu_watch__free(struct cpu_watch *w);

/* Is this message of the kernel (ACTION@PATH, then KEY=VALUE, each with a NUL) about a CPU that
 * came or went? */
bool cpu_watch__is_change(const char *message, size_t len);

#endif
