/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of a session: its life on one CPU. Private to session*.c. */
#ifndef FRBPF_RECORD_SESSION_CORE_H
#define FRBPF_RECORD_SESSION_CORE_H

#include "record/session.h"

/* Anchor, pulse and ring of a CPU. */
int session_cpu__open_ring(struct session_cpu *c, size_t ring_bytes, struct err *err);
/* Have the event @fd, called @name, write into the ring. */
int session_cpu__send(const struct session_cpu *c, int fd, const char *name, uint64_t *ret_id,
		      struct err *err);
/* Open the events of @target that threads are to have on CPUs that are off line: all or, of a CPU, none. */
void session__open_spares(struct session *s, const struct record_target *target);
void session__close_spares(struct session *s);
/* Memory for the copies of the next @n CPUs. */
int session__add_copies(struct session *s, size_t n, size_t ring_bytes, struct err *err);
/* -D: a thread that enables and disables the events. Copy its times; start; stop waits for it. */
int session_delay__keep(struct session *s, const struct record_target *target);
int session_delay__start(struct session *s, struct err *err);
void session_delay__stop(struct session *s);

void session_cpu__close_events(int *fds, size_t n, int pulse);
/* It recorded nothing between @from and @to, ns. Under the lock. */
void session_cpu__note_away(struct session_cpu *c, uint64_t from, uint64_t to);
void session_cpu__close(struct session_cpu *c, size_t n_fds);

#endif
