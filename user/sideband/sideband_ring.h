/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The dummy event of one CPU and its ring. The kernel does not overwrite this ring: if it is full,
 * new records are lost, and a LOST record says so. Life: open, drain whenever it is readable,
 * close.
 */
#ifndef FRBPF_SIDEBAND_SIDEBAND_RING_H
#define FRBPF_SIDEBAND_SIDEBAND_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/forward_ring.h"

struct sideband_ring {
	int cpu;
	int fd;
	uint64_t id;	  /* of the event, in its records */
	uint64_t file_id; /* replaces id in drained records; 0: id stays */
	struct forward_ring ring;
	bool build_ids;	  /* the event asked for them */
	bool counts_lost; /* read() gives the losses (Linux 6.0); else only LOST records do */
	uint64_t lost;	  /* reported so far */
};

/*
 * Set the attributes of a side-band event. It wakes when a quarter of @ring_bytes is used.
 * @build_id: MMAP2 records have build ids; see build_id_probe.h for when that is safe.
 */
void sideband_ring__init_attr(struct perf_event_attr *attr, size_t ring_bytes, bool build_id);

/*
 * Set the attributes of a CPU's watch, an event that records BPF programs only. Each of its records
 * wakes the reader.
 */
void sideband_ring__init_watch_attr(struct perf_event_attr *attr);

/*
 * Open the event and map its ring. Features that this kernel lacks are removed from @attr, newest
 * first, so that the next CPU needs no retries. -ENODEV: the CPU is offline; other negative errno
 * with the remedy in @err.
 */
int sideband_ring__open(struct sideband_ring *r, int cpu, struct perf_event_attr *attr,
			size_t ring_bytes, struct err *err);
void sideband_ring__close(struct sideband_ring *r);

/*
 * Call @fn with every valid record, except LOST, and free its room in the ring. Returns the number
 * of records lost since the last call. Unless the event counts them (counts_lost), a loss is known
 * only with the next record.
 */
uint64_t sideband_ring__drain(struct sideband_ring *r,
			      void (*fn)(const struct perf_event_header *rec, void *arg),
			      void *arg);

#endif
