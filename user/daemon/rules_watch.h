/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Follows a file that editors and tools replace: its directory is watched, so a rename over it is
 * seen as well as a write into it. Life: open, changed as often as the fd is readable, free.
 */
#ifndef FRBPF_DAEMON_RULES_WATCH_H
#define FRBPF_DAEMON_RULES_WATCH_H

#include <stdbool.h>

#include "common/err.h"

struct rules_watch;

/* Watch the file @path, absolute and without symbolic links. */
int rules_watch__open(const char *path, struct err *err, struct rules_watch **ret);
int rules_watch__fd(const struct rules_watch *w);

/* Take what waits at the fd: whether the file was written and closed, or replaced, since the last
 * call. -ESTALE: its directory has gone, and nothing more will be seen. */
int rules_watch__changed(struct rules_watch *w);

void rules_watch__free(struct rules_watch *w);

#endif
