/* SPDX-License-Identifier: GPL-2.0-only */
/* How fast the machine is now, by fixed work of our own. Life: open, run any number of times, free. */
#ifndef FRBPF_BENCH_MACHINE_PROBE_H
#define FRBPF_BENCH_MACHINE_PROBE_H

#include <stdint.h>

struct prober;

/* CPU time of fixed work, ns: what a CPU of this machine is worth now, whatever slows it down, be it the
 * clock of the CPU, somebody on its other half, or a neighbour of a virtual machine. */
struct machine_probe {
	uint64_t calculation;
	uint64_t memory; /* reading what is in no near cache */
	uint64_t pages;	 /* touching some for the first time */
};

struct prober *prober__open(void); /* NULL: out of memory */
/* Do all of that work, some 4 ms, and add what it took to @ret. */
void prober__run(const struct prober *p, struct machine_probe *ret);
void prober__free(struct prober *p);

#endif
