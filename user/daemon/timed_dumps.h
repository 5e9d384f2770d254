/* SPDX-License-Identifier: GPL-2.0-only */
/* Periodic dumps of sessions with --switch-output=SIZE or TIME. For the main thread. */
#ifndef FRBPF_DAEMON_TIMED_DUMPS_H
#define FRBPF_DAEMON_TIMED_DUMPS_H

#include "daemon/recorder.h"
#include "dump/base/retention.h"

/* Dump the sessions that are due. Returns ns until the next call, or UINT64_MAX. */
uint64_t timed_dumps__step(struct recorder *r);

/*
 * Add the limits of --switch-max-files to @ret: the number of such dumps to keep of each session,
 * or of dumps without a rule if it makes none by itself.
 */
void timed_dumps__limits(const struct active_set *g, struct retention_limits *ret);

#endif
