/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the machine did while a command ran: CPU time that others used, that a hypervisor took, that a
 * limit of our cgroup withheld, and how often a CPU was too hot.
 * Life: open, read before and after the command, free.
 */
#ifndef FRBPF_RUN_MACHINE_H
#define FRBPF_RUN_MACHINE_H

#include <stdint.h>

struct machine;

struct machine_sample {	      /* totals since ever; ns where nothing is said */
	uint64_t time;	      /* CLOCK_MONOTONIC */
	uint32_t cpus;	      /* online */
	uint64_t idle, steal; /* of all CPUs */
	uint64_t throttled;   /* of our cgroup and of those above it */
	uint64_t hot;	      /* times that a core or a package was throttled */
	uint64_t pressure_cpu, pressure_io, pressure_memory; /* PSI, `some` */
};

struct machine_use {	   /* between two of them */
	uint64_t capacity; /* of all CPUs */
	uint64_t others;   /* neither idle, nor stolen, nor of the command or of us */
	uint64_t steal, throttled, hot;
	uint64_t pressure_cpu, pressure_io, pressure_memory;
};

/* What this kernel does not tell is always 0. NULL: out of memory. */
struct machine *machine__open(void);
void machine__read(const struct machine *m, struct machine_sample *ret);
void machine__free(struct machine *m);

/* @own: CPU time of the command and of us meanwhile. */
struct machine_use machine__between(const struct machine_sample *before,
				    const struct machine_sample *after, uint64_t own);

/* The parsers, for tests: @text as the kernel has it. What is not there stays as it is. */
void machine__parse_stat(const char *text, uint64_t ticks, struct machine_sample *ret);
uint64_t machine__parse_throttled(const char *text); /* cpu.stat of cgroup2; ns */
uint64_t machine__parse_pressure(const char *text);  /* /proc/pressure/; ns */

#endif
