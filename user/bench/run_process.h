/* SPDX-License-Identifier: GPL-2.0-only */
/* One `frbpf run`, as a process of its own. */
#ifndef FRBPF_BENCH_RUN_PROCESS_H
#define FRBPF_BENCH_RUN_PROCESS_H

#include <signal.h>

#include "common/err.h"
#include "run/run_opts.h"

/* Signals that end a run are for it and its command: block them here. @ret_old: for the runs. 0 or negative errno. */
int run_process__block_signals(sigset_t *ret_old);

/*
 * Run @opts, with output into @folder (absolute, not there yet), and wait for the end of it. Signals that reach us
 * meanwhile are handed on. Only what a bench forwards is taken of @opts. *ret_status: its exit status, 128+signal when it was
 * killed. 0 or negative errno with words: it could not be started.
 */
int run_process__run(const struct run_opts *opts, const char *folder, const sigset_t *mask,
		     struct err *err, int *ret_status);

#endif
