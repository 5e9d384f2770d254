/* SPDX-License-Identifier: GPL-2.0-only */
/* Hands on from daemon to daemon what saved_state.h describes. For the main thread. Life: new before the
 * first rules are in force, save whenever something has fired, step from time to time, free after the
 * detectors. */
#ifndef FRBPF_DAEMON_STATE_KEEPER_H
#define FRBPF_DAEMON_STATE_KEEPER_H

#include "daemon/saved_state.h"
#include "daemon/recorder.h"
#include "rules/units.h"

struct state_keeper;

/* Read what the last daemon of @base (borrowed) has left, and tell the detectors. A file that is
 * damaged is a warning in the log. */
int state_keeper__new(const struct base_dir *base, struct detectors *d, struct err *err,
		      struct state_keeper **ret);
/* What was read. */
const struct saved_state *state_keeper__past(const struct state_keeper *k);
/* Write how things are now; a failure goes to the log. */
void state_keeper__save(struct state_keeper *k, struct recorder *r, const struct detectors *d);
/*
 * Rules that wake nobody when they fire (`dump = none`) are looked at every STATE_KEEPER_LOOK, and
 * what they did is saved; what rules have learnt, every STATE_KEEPER_LEARNT. Returns ns until the next look, or
 * UINT64_MAX: there is no such rule.
 */
#define STATE_KEEPER_LOOK   (5 * NSEC_PER_SEC)
#define STATE_KEEPER_LEARNT (60 * NSEC_PER_SEC)
uint64_t state_keeper__step(struct state_keeper *k, struct recorder *r, const struct detectors *d);
void state_keeper__free(struct state_keeper *k);

#endif
