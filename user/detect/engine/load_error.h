/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Explains why the kernel refused our programs. Messages of libbpf are collected here; they never
 * reach standard error.
 */
#ifndef FRBPF_DETECT_LOAD_ERROR_H
#define FRBPF_DETECT_LOAD_ERROR_H

#include "common/err.h"

/* The messages of libbpf in one thread between begin and end. */
struct load_log {
	char cause[256];    /* the first warning, one line */
	char verifier[384]; /* the last lines of the log of the verifier, if it refused a program */
};

/* Collect the messages of libbpf in the calling thread into @log, which is borrowed until end. */
void load_log__begin(struct load_log *log);
void load_log__end(void);

/* Check what every program needs. 0, or -EOPNOTSUPP and @err names the missing kernel option. */
int load_error__check_kernel(struct err *err);

/*
 * Explain the failure @code in @err: a kernel that is too old, missing privileges, a tracepoint
 * that this kernel lacks, a refusal by the verifier. Returns @code.
 */
int load_error__explain(struct err *err, int code, const struct load_log *log);

#endif
