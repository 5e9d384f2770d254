/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Errors with a message. Low modules do not log: they return a negative errno and, in a struct
 * err, what was tried, on what, and how to mend it. The command or the daemon prints it.
 */
#ifndef FRBPF_COMMON_ERR_H
#define FRBPF_COMMON_ERR_H

#include <errno.h>

#define ERR_MSG_MAX 1280

struct err {
	char msg[ERR_MSG_MAX]; /* one or more lines, no newline at the end; "" when nothing was said
				*/
};

/*
 * Store a message and return @code, so that a failing function ends in one line:
 *	return err_set(err, -errno, "%s: cannot open: %s", path, strerror(errno));
 * @err may be NULL; @code is a negative errno and is returned as it is.
 */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Put a prefix before the message: for callers that know the context. Returns @code. */
int err_prefix(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
