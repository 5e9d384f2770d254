/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a file answers. Who reads a file by a path that a rule names may wait for ever, when its file system hangs.
 * So another process, which may hang, opens it first. Who can ask one says so; then files are asked for.
 */
#ifndef FRBPF_COMMON_REACH_H
#define FRBPF_COMMON_REACH_H

/* 0: somebody could open the file at @path, or was told why not; else negative errno: it does not answer. NULL: that
 * was all for now. */
typedef int (*reach_fn)(void *arg, const char *path);

/* Ask @fn, from any thread, from now on. NULL: nobody, then every file is taken to answer. For when there is one thread. */
void reach__ask(reach_fn fn, void *arg);

/* 0, or -ETIMEDOUT: @path does not answer. */
int reach__file(const char *path);

/* That was all for now. */
void reach__rest(void);

#endif
