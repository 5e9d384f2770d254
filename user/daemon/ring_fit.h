/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sessions with `ring = T`: their rings are made as large as the measured rate wants. A ring cannot
 * grow, so the session gets a successor that records beside it; once that holds as much of the
 * past, it takes the session's place and no history is lost. Both count towards max-memory; where
 * that has no room for both, the rings stay as they are, and the notice of the session says so.
 *
 * Sizes are looked at two seconds after a session's start, then once a minute.
 * Life: new, step in the main loop, take when an active set is made, free.
 */
#ifndef FRBPF_DAEMON_RING_FIT_H
#define FRBPF_DAEMON_RING_FIT_H

#include "daemon/active_set.h"

struct ring_fit;

struct ring_fit *ring_fit__new(void); /* NULL: out of memory */

/* Start a session as session @i of the ruleset in force, with rings of @bytes. */
typedef int (*ring_fit_start_fn)(void *arg, size_t i, size_t bytes, struct err *err,
				 struct dumper **ret);

/* Look at the sessions of @g. Returns true when a successor is ready: make an active set then. In
 * *ret_wait: ns until the next look, UINT64_MAX when no session has `ring`. */
bool ring_fit__step(struct ring_fit *f, const struct active_set *g, ring_fit_start_fn start,
		    void *arg, uint64_t *ret_wait);

/* The successor of a session, with its reference, when it is ready; else NULL. */
struct dumper *ring_fit__take(struct ring_fit *f, const char *name, const char *run);

/* Does one record beside the session called @name? */
bool ring_fit__has_successor(const struct ring_fit *f, const char *name);

void ring_fit__free(struct ring_fit *f);

/* The ring, a power of two of at least @least bytes, that holds @ns at @rate bytes per second and a
 * quarter more. */
size_t ring_fit__size(uint64_t rate, uint64_t ns, size_t least);

/* The largest half, quarter ... of @want, but at least @least, with which @others + the session's
 * memory on @n_cpus stays within @max; 0: not even that. */
size_t ring_fit__within(size_t want, size_t least, size_t n_cpus, uint64_t others, uint64_t max);

#endif
