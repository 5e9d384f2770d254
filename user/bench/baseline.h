/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A series of runs as a JSON file, which can be kept with the sources and read by people. The file
 * is not trusted: numbers have limits, texts are one line, runs and rules must be consistent.
 */
#ifndef FRBPF_BENCH_BASELINE_H
#define FRBPF_BENCH_BASELINE_H

#include "common/buf.h"
#include "bench/series.h"

#define BASELINE_VERSION  1
#define BASELINE_FILE_MAX (16 << 20)

/* Append the text of a baseline file to @b. 0 or -ENOMEM. */
int baseline__format(const struct series *s, struct buf *b);
/* Parse the text of a baseline file. -EINVAL, message without the file name in @err; or -ENOMEM. */
int baseline__parse(const char *text, size_t len, struct err *err, struct series *ret);

/* Read @path. Negative errno, message in @err; *ret is untouched then. */
int baseline__read(const char *path, struct err *err, struct series *ret);

/*
 * Can @path be written? Call before any run. -EEXIST: it exists and @replace is false; otherwise
 * the errno of its directory. Message in @err.
 */
int baseline__check_writable(const char *path, bool replace, struct err *err);
/*
 * Write a complete file: under a temporary name in the same directory, synced, renamed. An existing
 * file is replaced only if @replace. Negative errno, message in @err.
 */
int baseline__write(const char *path, const struct series *s, bool replace, struct err *err);

#endif
