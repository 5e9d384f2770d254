/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measures the cost of a command, and the machine meanwhile. Life: begin right before it is
 * executed, end after its last process has been reaped, free.
 */
#ifndef FRBPF_RUN_MEASURE_H
#define FRBPF_RUN_MEASURE_H

#include <stdint.h>

#include "run/child.h"
#include "run/machine.h"

struct run_cost {		      /* ns unless noted */
	uint64_t wall;		      /* from exec to the end of the command */
	uint64_t cpu;		      /* user and system, with all forked processes */
	uint64_t switches, preempted; /* number of switches: to wait; by preemption */
	struct machine_use machine;
};

struct measure { /* { 0 } is legal to free */
	struct machine *machine;
	struct machine_sample began;
	uint64_t own, children, start;
	uint64_t switches, preempted;
};

int measure__begin(struct measure *m); /* 0 or -ENOMEM */
void measure__end(struct measure *m, const struct child *child, struct run_cost *ret);
void measure__free(struct measure *m);

#endif
