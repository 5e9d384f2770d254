/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a process must be allowed to do to record without being root: which of it is missing, and
 * the command that gives it.
 */
#ifndef FRBPF_RECORD_PRIVILEGE_H
#define FRBPF_RECORD_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

/* One capability as it is asked for. */
struct privilege {
	const char *name; /* "CAP_BPF" */
	int cap;
	const char *why;
	bool must; /* else: recorded without it, less well */
};

#define PRIVILEGES_MAX 8

/* What of it this process lacks. Returns how many. */
size_t privilege__missing(const struct privilege *ret[static PRIVILEGES_MAX]);

/* -EPERM, as of privilege__explain(), when something is missing that must be there; 0 otherwise, with
 * words in @ret_less when something is missing that would be good to have ("": nothing is). */
int privilege__check(struct err *ret_less, struct err *err);

/* @what was refused: add everything that is missing, if anything is, and the commands to get it.
 * Returns -EPERM. */
int privilege__explain(const char *what, struct err *err);

#endif
