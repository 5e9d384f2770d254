/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measures the cost of a command, and the machine meanwhile. Life: begin right before it is
 * executed, end after its last process has been reaped, free.
 */
#ifndef FRBPF_RUN_MEASURE_H
#define FRBPF_RUN_MEASURE_H

#include <stdint.h>

#include "run/child.h"

/*
 * The machine while a command runs: CPU time used by others, stolen by a hypervisor or withheld by
 * a limit of our cgroup, and how often a CPU was too hot. Life: open, read before and after the
 * command, free.
 */
struct machine;

struct machine_sample {	      /* running totals; ns unless noted */
	uint64_t time;	      /* CLOCK_MONOTONIC */
	uint32_t cpus;	      /* online */
	uint64_t idle, steal; /* over all CPUs */
	uint64_t throttled;   /* of the own cgroup and its parents */
	uint64_t hot;	      /* how often a core or a package was throttled by heat */
	uint64_t pressure_cpu, pressure_io, pressure_memory; /* PSI, `some` */
};

struct machine_use {	   /* differences between two samples; ns unless noted */
	uint64_t capacity; /* CPU time of all CPUs */
	uint64_t others;   /* neither idle, nor stolen, nor used by the command or frbpf */
	uint64_t steal, throttled, hot;
	uint64_t pressure_cpu, pressure_io, pressure_memory;
};

/* Values that this kernel does not report are always 0. NULL: out of memory. */
struct machine *machine__open(void);
void machine__read(const struct machine *m, struct machine_sample *ret);
void machine__free(struct machine *m);

/* Subtract the samples. @own: CPU time, ns, of the command and frbpf between them. */
struct machine_use machine__between(const struct machine_sample *before,
				    const struct machine_sample *after, uint64_t own);

/*
 * Parsers, exposed for tests. @text is a file of the kernel; values missing in it are left
 * unchanged.
 */
void machine__parse_stat(const char *text, uint64_t ticks, struct machine_sample *ret);
uint64_t machine__parse_throttled(const char *text); /* cpu.stat of cgroup2; ns */
uint64_t machine__parse_pressure(const char *text);  /* /proc/pressure/; ns */

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
