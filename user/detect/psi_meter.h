/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long tasks were stalled within a window, from readings of a pressure file's total= that were
 * made at odd times: when the kernel told that there is pressure.
 */
#ifndef FRBPF_DETECT_PSI_METER_H
#define FRBPF_DETECT_PSI_METER_H

#include <stddef.h>
#include <stdint.h>

#define PSI_METER_READINGS 16

struct psi_meter { /* { 0 }: no reading yet */
	struct psi_reading {
		uint64_t time;	 /* ns */
		uint64_t total;	 /* us */
	} v[PSI_METER_READINGS]; /* the oldest first */
	size_t n;
};

/* total= of the line that begins with @kind, us. 0 or -EPROTO. */
int psi__total(const char *text, const char *kind, uint64_t *ret_us);

void psi_meter__add(struct psi_meter *m, uint64_t time, uint64_t total_us);

/*
 * The stall in the window of @window ns that ends with the latest reading, ns. The kernel says that
 * it was at least @least, and it was no more than the window.
 */
uint64_t psi_meter__stall(const struct psi_meter *m, uint64_t window, uint64_t least);

/* It was no more than that; UINT64_MAX: no reading is as old as the window. */
uint64_t psi_meter__stall_at_most(const struct psi_meter *m, uint64_t window);

#endif
