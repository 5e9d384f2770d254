/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A series of runs as a file: JSON, so that it can be kept with the sources and looked at. Nothing of
 * it is trusted: numbers have bounds, texts are one line, runs and rules belong together.
 */
#ifndef FRBPF_BENCH_BASELINE_H
#define FRBPF_BENCH_BASELINE_H

#include "common/buf.h"
#include "bench/series.h"

#define BASELINE_VERSION  1
#define BASELINE_FILE_MAX (16 << 20)

/* The text of a file. 0 or -ENOMEM. */
int baseline__format(const struct series *s, struct buf *b);
/* The other way. -EINVAL, with words that do not name the file; -ENOMEM. */
int baseline__parse(const char *text, size_t len, struct err *err, struct series *ret);

/* Read @path. Negative errno with words; *ret is untouched then. */
int baseline__read(const char *path, struct err *err, struct series *ret);

/* -EEXIST, with words, when @path is there and must not be replaced; or what else keeps it from being
 * written: its folder. To be asked before anything is run. */
int baseline__check_writable(const char *path, bool replace, struct err *err);
/* Write it whole: under another name in the same folder, synced, renamed; in place of what is there only
 * if @replace. */
int baseline__write(const char *path, const struct series *s, bool replace, struct err *err);

#endif
