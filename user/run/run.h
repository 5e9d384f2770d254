/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One run: check and arm everything, execute the command, record until it and all forked processes
 * have ended, write, report. It runs in this process, between the command and the caller of frbpf:
 * signals are for the command.
 */
#ifndef FRBPF_RUN_RUN_H
#define FRBPF_RUN_RUN_H

#include "run/run_opts.h"

/*
 * Returns the exit status, see outcome__exit_status(). RUN_EXIT_NOT_RECORDED, with an error logged:
 * nothing was run.
 */
int run__run(const struct run_opts *opts);

#endif
