/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recent times when dumps were written. Our writing cannot have stalled others for longer than it
 * took. For any thread.
 */
#ifndef FRBPF_DETECT_WRITE_TIMES_H
#define FRBPF_DETECT_WRITE_TIMES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WRITE_TIMES_MAX 16

struct write_times { /* { .lock = PTHREAD_MUTEX_INITIALIZER }: nothing was written yet */
	pthread_mutex_t lock;
	struct write_time {
		uint64_t begin, end; /* ns; UINT64_MAX: not ended */
	} v[WRITE_TIMES_MAX];	     /* oldest first; if it is full, the two oldest are joined */
	size_t n;
};

/* Writing begins (@on) or ends. Nothing changes if it has begun or ended already. */
void write_times__note(struct write_times *w, bool on, uint64_t now);

/* Upper limit of the time, ns, that was spent writing between @from and @to. */
uint64_t write_times__within(struct write_times *w, uint64_t from, uint64_t to);

#endif
