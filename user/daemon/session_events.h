/* SPDX-License-Identifier: GPL-2.0-only */
/* Handles events of the sessions' processes, and reports dumps to them. */
#ifndef FRBPF_DAEMON_SESSION_EVENTS_H
#define FRBPF_DAEMON_SESSION_EVENTS_H

#include "daemon/daemon_core.h"

/* Handle signals to these processes, lines of their fifos, and ends of their commands. */
void session_events__process(struct daemon *d);

/* End a plain session whose file is complete: --max-size is reached, or it cannot be written. */
void session_events__end_full(struct daemon *d);

/* Report the files of @inc in the output of their sessions. They are complete. */
void session_events__tell_dump(const struct daemon *d, const struct incident *inc);

/* Dump all sessions when the daemon ends, if perf daemon would do so. */
void session_events__dump_last(struct daemon *d);

#endif
