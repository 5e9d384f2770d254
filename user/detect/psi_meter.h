/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calculates how long tasks were stalled within a window. The input is readings of total= in a
 * pressure file, made at irregular times: whenever the kernel reported pressure.
 */
#ifndef FRBPF_DETECT_PSI_METER_H
#define FRBPF_DETECT_PSI_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PSI_METER_READINGS 16

struct psi_meter { /* { 0 }: no reading yet */
	struct psi_reading {
		uint64_t time;	 /* ns */
		uint64_t total;	 /* us */
	} v[PSI_METER_READINGS]; /* oldest first */
	size_t n;
};

/* Add a reading of total=, made at @time, ns. If there is no room, the oldest one is dropped. */
void psi_meter__add(struct psi_meter *m, uint64_t time, uint64_t total_us);

/*
 * Estimate the stall, ns, in the window of @window ns that ends with the latest reading. It is at
 * least @least, as the kernel reported, and at most the window.
 */
uint64_t psi_meter__stall(const struct psi_meter *m, uint64_t window, uint64_t least);

/* Upper limit of the same stall, ns; UINT64_MAX: no reading is as old as the window. */
uint64_t psi_meter__stall_at_most(const struct psi_meter *m, uint64_t window);

#endif
