/* SPDX-License-Identifier: GPL-2.0-only */
/* Why the kernel would not take our programs, in words. libbpf's messages never reach standard
 * error. */
#ifndef FRBPF_DETECT_LOAD_ERROR_H
#define FRBPF_DETECT_LOAD_ERROR_H

#include "common/err.h"

/* What libbpf said in one thread between begin and end. */
struct load_log {
	char cause[256];    /* its first warning, one line */
	char verifier[384]; /* the last lines of the verifier's log, when it refused a program */
};

void load_log__begin(struct load_log *log);
void load_log__end(void);

/* Is there what every program needs? 0, or -EOPNOTSUPP with the kernel option that is missing. */
int load_error__check_kernel(struct err *err);

/* Turn what failed with @code into words: a kernel that is too old, privileges, a tracepoint this
 * kernel lacks, a refusal by the verifier. Returns @code. */
int load_error__explain(struct err *err, int code, const struct load_log *log);

#endif
