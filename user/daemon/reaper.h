/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that lets active sets go. Closing sessions takes long (the kernel waits some 10 ms for
 * every tracepoint event), and nobody who records, freezes or answers may wait for it.
 */
#ifndef FRBPF_DAEMON_REAPER_H
#define FRBPF_DAEMON_REAPER_H

#include "daemon/active_set.h"

struct reaper;

int reaper__start(struct err *err, struct reaper **ret);
/* Take over one reference of @g; NULL is legal. Never blocks for long, never fails. */
void reaper__give(struct reaper *r, struct active_set *g);
/* Let go what was given, then end the thread. NULL is legal. */
/* Wait until all that was given has been let go. */
void reaper__wait(struct reaper *r);
void reaper__free(struct reaper *r);

#endif
