/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Follows files that editors and tools replace: their directories are watched, so a rename over it is
 * seen as well as a write into it. Life: new, follow and changed as often as wanted, free.
 */
#ifndef FRBPF_DAEMON_RULES_WATCH_H
#define FRBPF_DAEMON_RULES_WATCH_H

#include <stdbool.h>

#include "common/err.h"

struct rules_watch;

int rules_watch__new(struct err *err, struct rules_watch **ret);
/* Readable when rules_watch__changed() has something to say. */
int rules_watch__fd(const struct rules_watch *w);

/* Follow the files of the list @path (each absolute, see rules_files.h) from now on and no other;
 * NULL: none. Symbolic links on the way to one are followed, too: one that is switched is a change
 * of the file.
 * Returns 1 when it begins to, 0 when it did already; on failure none is followed. */
int rules_watch__follow(struct rules_watch *w, const char *path, struct err *err);

/* Take what waits at the fd: whether one was written and closed, or replaced, since the last
 * call. -ESTALE: the directories have gone, and nothing more will be seen. */
int rules_watch__changed(struct rules_watch *w);

void rules_watch__free(struct rules_watch *w);

#endif
