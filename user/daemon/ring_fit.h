/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resizes the rings of sessions with `ring = T` to the measured rate. A ring cannot grow, so a
 * successor of the session records beside it. Once the successor holds as much of the past, it
 * takes over, and no history is lost. Both count towards max-memory. If there is no room for both,
 * the rings stay as they are, and the session's notice says so.
 *
 * Rates are measured two seconds after a session's start, then once a minute. Life: new, step in
 * the main loop, take when an active set is made, free.
 */
#ifndef FRBPF_DAEMON_RING_FIT_H
#define FRBPF_DAEMON_RING_FIT_H

#include "daemon/active_set.h"

struct ring_fit;

struct ring_fit *ring_fit__new(void); /* NULL: out of memory */

/*
 * Starts a copy of session @i of the ruleset in force with rings of @bytes. 0 or negative errno
 * with a message in @err.
 */
typedef int (*ring_fit_start_fn)(void *arg, size_t i, size_t bytes, struct err *err,
				 struct dumper **ret);

/*
 * Check the sessions of @g. True: a successor can take over; make an active set with it.
 * *ret_wait: ns until the next check, or UINT64_MAX if no session has `ring`.
 */
bool ring_fit__step(struct ring_fit *f, const struct active_set *g, ring_fit_start_fn start,
		    void *arg, uint64_t *ret_wait);

/* Get the successor of a session if it is ready, with its reference; else NULL. */
struct dumper *ring_fit__take(struct ring_fit *f, const char *name, const char *run);

/* Does the session called @name have a successor? */
bool ring_fit__has_successor(const struct ring_fit *f, const char *name);

void ring_fit__free(struct ring_fit *f);

/*
 * Bytes of the ring, @least times a power of two, that holds @ns at @rate bytes per second, plus a
 * quarter.
 */
size_t ring_fit__size(uint64_t rate, uint64_t ns, size_t least);

/*
 * Halve @want, but not below @least, until @others plus the session's memory on @n_cpus CPUs is
 * within @max. All in bytes; 0: @max is too small.
 */
size_t ring_fit__within(size_t want, size_t least, size_t n_cpus, uint64_t others, uint64_t max);

#endif
