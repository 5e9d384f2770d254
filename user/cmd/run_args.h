/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses the command lines of `frbpf run` and `frbpf bench`. */
#ifndef FRBPF_CMD_RUN_ARGS_H
#define FRBPF_CMD_RUN_ARGS_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/bench.h"
#include "cmd/cmd.h"

/*
 * False: end with *ret_status, as help or an error was printed. Free @ret in any case; it borrows
 * from @argv.
 */
bool run_args__parse(const struct command *cmd, int argc, char **argv, struct run_opts *ret,
		     int *ret_status);
void run_args__free(struct run_opts *opts);
bool bench_args__parse(const struct command *cmd, int argc, char **argv, struct bench_opts *ret,
		       int *ret_status);
void bench_args__free(struct bench_opts *opts);

/*
 * Log to @path until log_to(NULL); NULL: to standard error. The caller closes *ret, which may be
 * NULL. False: the file cannot be opened, and an error was printed.
 */
bool run_args__log_to(const char *path, FILE **ret);

#endif
