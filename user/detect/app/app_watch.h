/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds FRBPF_TRIGGER() in what the machine runs, for those who joined for its name, and has them
 * attach to it: in all programs and libraries that are mapped when the first one joins, then in each as
 * it is mapped, which the kernel tells. Wakes up with that, and never else. A probe belongs to a file:
 * what runs it later is seen from its first instruction on, a file that is new a moment after.
 */
#ifndef FRBPF_DETECT_APP_WATCH_H
#define FRBPF_DETECT_APP_WATCH_H

#include <stddef.h>
#include <stdint.h>

struct app_watch;
struct bpf_link;

/* Somebody who wants to attach; embedded by its owner. */
struct app_watcher {
	const char *name;
	/* @path opens the file, @arg is the cookie of sdt_arg.h. NULL: errno says why not. */
	struct bpf_link *(*attach)(struct app_watcher *w, const char *path, uint64_t offset,
				   uint64_t arg);
	/* of the watch */
	struct app_watcher *next;
	struct app_watch_link *links;
};

/* NULL: out of memory. Starts nothing yet. */
struct app_watch *app_watch__new(void);

/* Have @w->attach called with each place of its name, one at a time: here, with those that are known,
 * or in the thread of the watch. Starts that, and waits until it has seen all that runs, if it is the
 * first. Negative errno: nothing is found. */
int app_watch__join(struct app_watch *a, struct app_watcher *w);
/* Detaches. Once it returns, w->attach is not at work and not called any more. One that has not joined
 * is legal. */
void app_watch__leave(struct app_watch *a, struct app_watcher *w);

struct app_watch_stats {
	size_t files, places; /* that have a FRBPF_TRIGGER(), whatever its name */
	uint64_t left_out;    /* times that there was no room for a file */
	uint64_t failed;      /* times that the kernel refused a place */
};
/* CPUs have come or gone (cpus__note_change()). */
void app_watch__follow_cpus(struct app_watch *a);
void app_watch__stats(struct app_watch *a, struct app_watch_stats *ret);

/* Everybody must have left. NULL is legal. */
void app_watch__free(struct app_watch *a);

#endif
