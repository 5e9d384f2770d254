/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of a session: its events on one CPU. Private to session*.c. */
#ifndef FRBPF_RECORD_SESSION_CORE_H
#define FRBPF_RECORD_SESSION_CORE_H

#include "record/session.h"

/* Open the anchor, pulse and ring of a CPU. */
int session_cpu__open_ring(struct session *s, struct session_cpu *c, size_t ring_bytes,
			   struct err *err);
/*
 * For plain sessions: init_attr sets the attributes of the anchors, open_anchor opens one. The
 * latter drops features, the newest first, until the kernel accepts the attributes. It returns the
 * descriptor or negative errno.
 */
void session_plain__init_attr(struct session *s, size_t ring_bytes);
int session_plain__open_anchor(struct session *s, int cpu);
/* Redirect the event @fd, called @name, into the ring. */
int session_cpu__send(const struct session_cpu *c, int fd, const char *name, uint64_t *ret_id,
		      struct err *err);
/*
 * Open the events that threads of @target need on CPUs that are offline. On each CPU all are
 * opened, or none.
 */
void session__open_spares(struct session *s, const struct record_target *target);
void session__close_spares(struct session *s);
/* Add memory for the copies of the next @n CPUs. */
int session__add_copies(struct session *s, size_t n, size_t ring_bytes, struct err *err);
/*
 * For -D: a thread enables and disables the events. keep copies the times, start starts the thread,
 * stop ends it.
 */
int session_delay__keep(struct session *s, const struct record_target *target);
int session_delay__start(struct session *s, struct err *err);
void session_delay__stop(struct session *s);

/* Close the @n events @fds and @pulse; -1: not open. Frees @fds, which may be NULL. */
void session_cpu__close_events(int *fds, size_t n, int pulse);
/* Note that nothing was recorded between @from and @to, ns. Call with the lock held. */
void session_cpu__note_away(struct session_cpu *c, uint64_t from, uint64_t to);
void session_cpu__close(struct session_cpu *c, size_t n_fds);

#endif
