/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calculates how long tasks were stalled within a window. The input is readings of total= in a
 * pressure file, made at irregular times: whenever the kernel reported pressure.
 */
#ifndef FRBPF_DETECT_PSI_METER_H
#define FRBPF_DETECT_PSI_METER_H

#include <pthread.h>
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

void psi_meter__add(struct psi_meter *m, uint64_t time, uint64_t total_us);

/*
 * Estimate the stall, ns, in the window of @window ns that ends with the latest reading. It is at
 * least @least, as the kernel reported, and at most the window.
 */
uint64_t psi_meter__stall(const struct psi_meter *m, uint64_t window, uint64_t least);

/* Upper limit of the same stall, ns; UINT64_MAX: no reading is as old as the window. */
uint64_t psi_meter__stall_at_most(const struct psi_meter *m, uint64_t window);

/*
 * ---- recent times when dumps were written ----
 * The stall that our writing caused is at most as long as we wrote. For any thread.
 */

#define WRITE_TIMES_MAX 16

struct write_times { /* { .lock = PTHREAD_MUTEX_INITIALIZER }: nothing was written yet */
	pthread_mutex_t lock;
	struct write_time {
		uint64_t begin, end; /* ns; UINT64_MAX: not ended */
	} v[WRITE_TIMES_MAX];	     /* oldest first; beyond that, the two oldest are joined */
	size_t n;
};

/* Writing begins (@on) or ends. Nothing changes if it has begun or ended already. */
void write_times__note(struct write_times *w, bool on, uint64_t now);

/* The most time, ns, that was spent writing between @from and @to. */
uint64_t write_times__within(struct write_times *w, uint64_t from, uint64_t to);

#endif
