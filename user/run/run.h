/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One run: everything is checked and armed, then the command is executed; recorded until it and what
 * it forked have ended; written, reported. In this process, which stands between the command and who
 * called us: signals are the command's.
 */
#ifndef FRBPF_RUN_RUN_H
#define FRBPF_RUN_RUN_H

#include "run/run_opts.h"

/* Returns the exit status, see outcome__exit_status(); RUN_EXIT_NOT_RECORDED, and said why, when
 * nothing was run. */
int run__run(const struct run_opts *opts);

#endif
