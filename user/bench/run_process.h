/* SPDX-License-Identifier: GPL-2.0-only */
/* One `frbpf run` as a child process. */
#ifndef FRBPF_BENCH_RUN_PROCESS_H
#define FRBPF_BENCH_RUN_PROCESS_H

#include <signal.h>

#include "common/err.h"
#include "run/run_opts.h"

/*
 * Block the signals that end a run: they are for the run and its command. *ret_old: the previous
 * mask, for the runs. 0 or negative errno.
 */
int run_process__block_signals(sigset_t *ret_old);

/*
 * Run @opts with output into @folder (absolute, must not exist), and wait until it ends. Signals
 * that arrive meanwhile are forwarded. Only the options that bench forwards are used. *ret_status:
 * its exit status, or 128+signal. 0, or negative errno with a message: it could not be started.
 */
int run_process__run(const struct run_opts *opts, const char *folder, const sigset_t *mask,
		     struct err *err, int *ret_status);

#endif
