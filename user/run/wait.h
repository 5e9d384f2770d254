/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time between the start of the command and the end of the recording: signals that are handed
 * on, children that end, dumps that are written, and what ends it.
 */
#ifndef FRBPF_RUN_WAIT_H
#define FRBPF_RUN_WAIT_H

#include <signal.h>

#include "run/child.h"
#include "run/outcome.h"
#include "run/recording.h"
#include "run/run_target.h"

struct waiter {
	const struct run_opts *opts;
	struct child *child;		 /* NULL: no command */
	struct recording *recording;	 /* NULL: not recorded */
	const struct run_target *target; /* of a recording */
	struct outcome *outcome;
	int signals; /* signalfd of wait__block_signals() */
};

/* From now on signals are for the signalfd: what is ours to hand on. The mask that was is the
 * command's. Returns the fd or negative errno. */
int wait__block_signals(sigset_t *ret_old);

/* Until the recording is to end; sets outcome.end. */
void wait__recording(struct waiter *w);
/* Until the command has ended, if it goes on after that. */
void wait__command(struct waiter *w);

#endif
