/* SPDX-License-Identifier: GPL-2.0-only */
/* The command lines of `frbpf run` and `frbpf bench`. */
#ifndef FRBPF_CMD_RUN_ARGS_H
#define FRBPF_CMD_RUN_ARGS_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/bench.h"
#include "cmd/cmd.h"

/* False: the command is over with *ret_status: help was printed, or an error said. Free @ret in any
 * case; it borrows from @argv. */
bool run_args__parse(const struct command *cmd, int argc, char **argv, struct run_opts *ret,
		     int *ret_status);
void run_args__free(struct run_opts *opts);
bool bench_args__parse(const struct command *cmd, int argc, char **argv, struct bench_opts *ret,
		       int *ret_status);
void bench_args__free(struct bench_opts *opts);

/* Write the log to @path, NULL: to standard error, until log_to(NULL). *ret is for the caller to close, or NULL. False: it
 * cannot be opened, and that was said. */
bool run_args__log_to(const char *path, FILE **ret);

#endif
