/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Capabilities that a process needs to record without being root: which ones it lacks, and the
 * command that grants them.
 */
#ifndef FRBPF_RECORD_PRIVILEGE_H
#define FRBPF_RECORD_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"

/* One capability and its reason. */
struct privilege {
	const char *name; /* "CAP_BPF" */
	int cap;
	const char *why;
	bool must; /* required; otherwise recording works without it, less well */
};

#define PRIVILEGES_MAX 8

/* Get the capabilities that this process lacks. Returns their number. */
size_t privilege__missing(const struct privilege *ret[static PRIVILEGES_MAX]);

/*
 * Check the capabilities. -EPERM, with the message of privilege__explain(): a required one is
 * missing. Otherwise 0; *ret_less lists optional ones that are missing, "": none.
 */
int privilege__check(struct err *ret_less, struct err *err);

/* Append to @b, as lines, the commands that grant all capabilities. 0 or -ENOMEM. */
int privilege__remedy(struct buf *b);

/*
 * Explain that @what was refused: add all missing capabilities and the commands to get them.
 * Returns -EPERM.
 */
int privilege__explain(const char *what, struct err *err);

/* Settings of the kernel that limit recording. */

/* Read the number in /proc/sys/kernel/@name; @missing if that fails. */
long sysctl__kernel(const char *name, long missing);

#endif
