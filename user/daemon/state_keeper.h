/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Passes the saved state from one daemon to the next. For the main thread. Life: new before the
 * first rules are in force, save after triggers, step from time to time, free after the detectors.
 */
#ifndef FRBPF_DAEMON_STATE_KEEPER_H
#define FRBPF_DAEMON_STATE_KEEPER_H

#include "daemon/recorder.h"
#include "daemon/saved_state.h"

struct state_keeper;

/*
 * Read the state that the last daemon of @base (borrowed) left, and pass it to the detectors. A
 * damaged file only causes a warning in the log. 0 or negative errno with a message in @err.
 */
int state_keeper__new(const struct base_dir *base, struct detectors *d, struct err *err,
		      struct state_keeper **ret);
/* The state that was read. */
const struct saved_state *state_keeper__past(const struct state_keeper *k);
/* Write the current state. A failure goes to the log. */
void state_keeper__save(struct state_keeper *k, struct recorder *r, const struct detectors *d);
/*
 * Rules that fire without waking the daemon (`dump = none`) are polled every STATE_KEEPER_LOOK, and
 * changes are saved. What rules have learnt is saved every STATE_KEEPER_LEARNT. Returns ns until
 * the next call, or UINT64_MAX: no rule needs it.
 */
#define STATE_KEEPER_LOOK   (5 * NSEC_PER_SEC)
#define STATE_KEEPER_LEARNT (60 * NSEC_PER_SEC)
uint64_t state_keeper__step(struct state_keeper *k, struct recorder *r, const struct detectors *d);
void state_keeper__free(struct state_keeper *k);

#endif
