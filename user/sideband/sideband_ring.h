/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The dummy event of one CPU and its ring, which the kernel does not overwrite: what is not drained
 * in time is lost, and a LOST record says so. Life: open, drain as often as it is readable, close.
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
	uint64_t id;	  /* of the event: what its records carry */
	uint64_t told_id; /* what they are told with instead; 0: their own */
	struct forward_ring ring;
	bool build_ids;	  /* the event asked for them */
	bool counts_lost; /* the event can be asked (Linux 6.0); else only LOST records tell */
	uint64_t lost;	  /* reported so far */
};

/* What a side-band event asks for; @ring_bytes decides when it wakes. @build_id: MMAP2 records tell
 * the file's, where the kernel can (build_id_probe.h says when that is allowed). */
void sideband_ring__init_attr(struct perf_event_attr *attr, size_t ring_bytes, bool build_id);

/* The other event of a CPU: it tells of BPF programs, which the first does not, and each of its
 * records wakes. */
void sideband_ring__init_watch_attr(struct perf_event_attr *attr);

/* Open, map and enable. What this kernel lacks is dropped from @attr, newest feature first, so that
 * the next CPU opens at once. -ENODEV: the CPU is offline; else negative errno with the remedy in
 * @err. */
int sideband_ring__open(struct sideband_ring *r, int cpu, struct perf_event_attr *attr,
			size_t ring_bytes, struct err *err);
void sideband_ring__close(struct sideband_ring *r);

/* Hand every waiting record that is valid, but no LOST, to @fn and give the room back. Returns how
 * many records were lost since the last call. Where the event counts them this is known at once,
 * not when the next record comes. */
uint64_t sideband_ring__drain(struct sideband_ring *r,
			      void (*fn)(const struct perf_event_header *rec, void *arg),
			      void *arg);

#endif
