/* SPDX-License-Identifier: GPL-2.0-only */
/* Dumps that sessions with --switch-output=SIZE or TIME make by themselves. For the main thread. */
#ifndef FRBPF_DAEMON_TIMED_DUMPS_H
#define FRBPF_DAEMON_TIMED_DUMPS_H

#include "daemon/recorder.h"
#include "dump/base/retention.h"

/* Dump the sessions that are due. Returns ns until it should be called again, or UINT64_MAX. */
uint64_t timed_dumps__step(struct recorder *r);

/* How many of each session's dumps stay, by --switch-max-files. */
void timed_dumps__limits(const struct active_set *g, struct retention_limits *ret);

#endif
