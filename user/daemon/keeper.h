/* SPDX-License-Identifier: GPL-2.0-only */
/* Hands on from daemon to daemon what keep.h describes. For the main thread. Life: new before the
 * first rules are in force, save whenever something has fired, free after the detectors. */
#ifndef FRBPF_DAEMON_KEEPER_H
#define FRBPF_DAEMON_KEEPER_H

#include "daemon/keep.h"
#include "daemon/recorder.h"

struct keeper;

/* Read what the last daemon of @base (borrowed) has left, and tell the detectors. A file that is
 * damaged is a warning in the log. */
int keeper__new(const struct base_dir *base, struct detectors *d, struct err *err,
		struct keeper **ret);
/* What was read. */
const struct keep *keeper__past(const struct keeper *k);
/* Write how things are now; a failure goes to the log. */
void keeper__save(struct keeper *k, struct recorder *r, const struct detectors *d);
void keeper__free(struct keeper *k);

#endif
