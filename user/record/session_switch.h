/* SPDX-License-Identifier: GPL-2.0-only */
/* A session's events are disabled for a while. */
#ifndef FRBPF_RECORD_SESSION_SWITCH_H
#define FRBPF_RECORD_SESSION_SWITCH_H

#include "record/session.h"

/*
 * Enable (@on) or disable the session's events called @name, or all with NULL, on CPUs that come
 * later, too. While all are disabled the session counts as away: see session__away(). For the
 * thread that opened the session. -ENOENT: no event is called so.
 */
int session__switch(struct session *s, const char *name, bool on);

#endif
