/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that frees active sets. Closing sessions is slow: the kernel waits some 10 ms for each
 * tracepoint event. Recording, freezing and commands must not wait for that.
 */
#ifndef FRBPF_DAEMON_REAPER_H
#define FRBPF_DAEMON_REAPER_H

#include "daemon/active_set.h"

struct reaper;

/* Start the thread. 0 or negative errno with a message in @err. */
int reaper__start(struct err *err, struct reaper **ret);
/* Take over one reference of @g; NULL is legal. Never blocks for long, never fails. */
void reaper__give(struct reaper *r, struct active_set *g);
/* Wait until all active sets that were given are freed. */
void reaper__wait(struct reaper *r);
/* Frees the active sets that were given, then ends the thread. NULL is legal. */
void reaper__free(struct reaper *r);

#endif
