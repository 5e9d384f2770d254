/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of the machine in the last minute, per second: CPU time by state, pressure, run queue,
 * memory, disks, network. Reads a few files of /proc and /sys once a second, kept open. Life:
 * start, get as often as needed, free.
 */
#ifndef FRBPF_DUMP_STATE_VITALS_H
#define FRBPF_DUMP_STATE_VITALS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

#define VITALS_DISKS	 128 /* that get a name */
#define VITALS_DISK_NAME 32  /* bytes, with the NUL */

enum vital {
	/* sum of all CPUs, ns */
	VITAL_USER,
	VITAL_SYSTEM,
	VITAL_IRQ,
	VITAL_IDLE,
	VITAL_IOWAIT,
	VITAL_STEAL,
	/* time in which some or all tasks waited for the resource, ns */
	VITAL_CPU_SOME,
	VITAL_MEMORY_SOME,
	VITAL_MEMORY_FULL,
	VITAL_IO_SOME,
	VITAL_IO_FULL,
	/* events */
	VITAL_MAJOR_FAULTS,
	VITAL_RECLAIMS,
	VITAL_SWAPPED,
	VITAL_NET_ERRORS,
	VITAL_DISK_ERRORS,
	VITAL_DISK_BUSY, /* busy time, ns, of the disk that was busy longest since boot */
	VITAL_COUNTERS,	 /* those above are counters */
	VITAL_RUNNING = VITAL_COUNTERS, /* tasks at that moment */
	VITALS,
};

struct vitals_sample {
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	uint64_t v[VITALS];
};

struct vitals;

/*
 * Start the thread. Values that this kernel does not have are left out. 0 or negative errno with a
 * message in @err.
 */
int vitals__start(struct err *err, struct vitals **ret);

/*
 * Get the values in the manifest's format, see frbpf-manifest(5): from a minute before @time until
 * now, with one more sample. Owned by the caller; NULL: nothing is known, or out of memory. For any
 * thread.
 */
json_t *vitals__get(struct vitals *v, uint64_t time);

/* Ends the thread. NULL is legal. */
void vitals__free(struct vitals *v);

/* ---- parts, for tests ---- */
void vitals__parse_stat(const char *text, uint64_t ticks, struct vitals_sample *ret);
void vitals__parse_vmstat(const char *text, struct vitals_sample *ret);
void vitals__parse_diskstats(const char *text, struct vitals_sample *ret);
/* {"7:0": "loop0"}; owned by the caller. NULL: out of memory */
json_t *vitals__parse_disk_names(const char *text);
void vitals__parse_net_dev(const char *text, struct vitals_sample *ret);
void vitals__parse_loadavg(const char *text, struct vitals_sample *ret);
json_t *vitals__json(const struct vitals_sample *v, size_t n, uint64_t time);

#endif
