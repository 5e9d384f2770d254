/* SPDX-License-Identifier: GPL-2.0-only */
/* Disables the events of a session for a while: on request, or as --delay says. */
#ifndef FRBPF_RECORD_SESSION_SWITCH_H
#define FRBPF_RECORD_SESSION_SWITCH_H

#include "record/session.h"

/*
 * Enable (@on) or disable the events called @name, also on CPUs that come later. NULL: all events.
 * While all are disabled, the session counts as away: see session__away(). Call it in the thread
 * that opened the session. -ENOENT: no event has this name.
 */
int session__switch(struct session *s, const char *name, bool on);

#endif
