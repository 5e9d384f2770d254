/* SPDX-License-Identifier: GPL-2.0-only */
/* What the processes of sessions ask the daemon for, and what they are told. */
#ifndef FRBPF_DAEMON_SESSION_EVENTS_H
#define FRBPF_DAEMON_SESSION_EVENTS_H

#include "daemon/daemon_core.h"

/* Do what signals to them, their fifos and the ends of commands ask for. */
void session_events__process(struct daemon *d);

/* The files of @inc are there: the sessions' outputs say so. */
void session_events__tell_dump(const struct daemon *d, const struct incident *inc);

/* The daemon ends: a last dump of all sessions, where perf daemon makes one. */
void session_events__dump_last(struct daemon *d);

#endif
