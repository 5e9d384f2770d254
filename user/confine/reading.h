/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads recordings, which are untrusted files, in a forked process. That process can only read, see
 * docs/SECURITY.md, and its memory and time are limited. If it dies, no harm is done.
 */
#ifndef FRBPF_CONFINE_READING_H
#define FRBPF_CONFINE_READING_H

#include <jansson.h>

#include "common/err.h"

#define READING_FDS_MAX 4

/*
 * Limit this process, before it reads a recording. @seconds: limit of CPU time. @keep: the @n
 * descriptors that stay open, READING_FDS_MAX at most, beside the standard ones. Call it when there
 * are no other threads, with no_new_privs, and with SIGSYS not blocked. 0; or negative errno: read
 * nothing.
 */
int reading__begin(unsigned int seconds, const int *keep, size_t n);

/*
 * The same for a command that reads recordings itself and then ends: 4 GB of memory and an hour of
 * CPU time, or less if this process has lower limits. A message at the end says if one was reached.
 */
int reading__begin_command(void);

/* The function that reads. Returns the result; NULL: there is none, and errors were printed. */
typedef json_t *(*reading_fn)(void *arg);

/*
 * Call @fn in a limited process, and wait for its result, at most five times @seconds. Call it when
 * there are no other threads. @out: a descriptor that @fn writes to, or -1; all others are closed.
 * Check the result: a file may have taken the process over. 0; -ENODATA: @fn returned NULL; -EIO:
 * the process died; -ETIMEDOUT: it hung; -EMSGSIZE; or the errno of starting it. Message in @err.
 */
int reading__run(reading_fn fn, void *arg, unsigned int seconds, int out, struct err *err,
		 json_t **ret);

#endif
