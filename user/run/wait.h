/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits from the start of the command to the end of the recording: forwards signals, reaps
 * children, steps the recording, and decides when it ends.
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
	const struct run_target *target; /* used with a recording */
	struct outcome *outcome;
	int signals; /* signalfd from wait__block_signals() */
};

/*
 * Block the signals to be forwarded: from now on they arrive at the signalfd. *ret_old: the
 * previous mask, which the command gets. Returns the fd or negative errno.
 */
int wait__block_signals(sigset_t *ret_old);

/* Wait until the recording is to end; sets outcome.end. */
void wait__recording(struct waiter *w);
/* Wait until the command has ended, if it outlasts the recording. */
void wait__command(struct waiter *w);

#endif
