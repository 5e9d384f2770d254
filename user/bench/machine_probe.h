/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measures the current speed of the machine with fixed work. Life: open, run any number of times,
 * free.
 */
#ifndef FRBPF_BENCH_MACHINE_PROBE_H
#define FRBPF_BENCH_MACHINE_PROBE_H

#include <stdint.h>

struct prober;

/*
 * CPU time of fixed work, ns. It shows the current speed of a CPU, whatever slows it down: its
 * clock, its sibling thread, or a neighbour of a virtual machine.
 */
struct machine_probe {
	uint64_t calculation;
	uint64_t memory; /* reading memory outside the near caches */
	uint64_t pages;	 /* touching pages for the first time */
};

struct prober *prober__open(void); /* NULL: out of memory */
/* Do all of the work, about 4 ms, and add the times to @ret. */
void prober__run(const struct prober *p, struct machine_probe *ret);
void prober__free(struct prober *p);

#endif
