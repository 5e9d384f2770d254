/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs of this machine, which come and go: their lists, and the events on each of them. */
#ifndef FRBPF_COMMON_CPUS_H
#define FRBPF_COMMON_CPUS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- lists, as sysfs writes them ---- */

/* Parse "0,2-5\n" into an ascending array, owned by the caller. 0, -EINVAL or -ENOMEM. */
int cpus__parse(const char *list, int **ret, size_t *ret_n);
/* Get the CPUs that are online now. Errors as above, or of reading sysfs. */
int cpus__online(int **ret, size_t *ret_n);
#define CPUS_ONLINE_FILE "/sys/devices/system/cpu/online"
/* Get the CPUs that are present, also offline. A CPU may come or go at any time. */
int cpus__present(int **ret, size_t *ret_n);
/* Number of CPUs that the kernel can ever have; 0: unknown. */
size_t cpus__n_possible(void);
/* Is @cpu in the ascending list @v? */
bool cpus__has(const int *v, size_t n, int cpu);

/*
 * The current epoch: how often cpus__note_change() said that CPUs came or went. Events opened in an
 * earlier epoch may not record on all CPUs: the events of a CPU that goes offline stay dead.
 */
unsigned int cpus__epoch(void);
void cpus__note_change(void);

/*
 * ---- do the perf events of a CPU still record? ----
 * When a CPU goes offline, the kernel detaches its events for good. Only their enabled time shows
 * that.
 */

/*
 * Attributes of an event that records nothing. On a CPU it lives as long as other events that were
 * opened there at the same time.
 */
extern const struct perf_event_attr cpu_pulse_attr;

/*
 * Does the event @fd still record? It does if its enabled time has advanced since *seen (0: not
 * read before), which is updated. An event that cannot be read counts as recording. For events that
 * are polled: each call interrupts the CPU once.
 */
bool cpu_pulse__beats(int fd, uint64_t *seen);

/*
 * Is the event @fd alive? It is enabled and has the read format TOTAL_TIME_ENABLED. If it is dead,
 * *ret_ns is its enabled time. Reading interrupts the CPU. An event that cannot be read counts as
 * alive.
 */
bool cpu_pulse__is_alive(int fd, uint64_t *ret_ns);

/*
 * ---- watch for CPUs that come and go ----
 * The kernel sends uevents, but not in every container, nor after a suspend. So a thread that wakes
 * up anyway also calls cpu_watch__compare(). A change is reported without details: read the
 * kernel's list then. Life: open, read whenever the descriptor is readable, free.
 */

struct cpu_watch;

int cpu_watch__open(struct cpu_watch **ret); /* negative errno */
int cpu_watch__fd(const struct cpu_watch *w);
/* Did CPUs come or go, or is that possible? The descriptor is not readable afterwards. */
bool cpu_watch__read(struct cpu_watch *w);
/*
 * Compare the list of CPUs, and the time spent suspended, with those of the previous call. If they
 * differ, the descriptor becomes readable. Call it from one thread only, which may be another one
 * than the reader's.
 */
void cpu_watch__compare(struct cpu_watch *w);
/* Make the descriptor readable. May be called from any thread. */
void cpu_watch__notify(struct cpu_watch *w);
void cpu_watch__free(struct cpu_watch *w);

/* Is this uevent (ACTION@PATH, then KEY=VALUE, each with a NUL) about a CPU that came or went? */
bool cpu_watch__is_change(const char *message, size_t len);

#endif
