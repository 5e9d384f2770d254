/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Follows a file that editors and tools replace: its directory is watched, so a rename over it is
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

/* Follow the file @path (absolute) from now on and no other; NULL: none. Symbolic links on the way
 * to it are followed, too: one that is switched is a change of the file.
 * Returns 1 when it begins to, 0 when it did already; on failure none is followed. */
int rules_watch__follow(struct rules_watch *w, const char *path, struct err *err);

/* Take what waits at the fd: whether the file was written and closed, or replaced, since the last
 * call. -ESTALE: its directory has gone, and nothing more will be seen. */
int rules_watch__changed(struct rules_watch *w);

void rules_watch__free(struct rules_watch *w);

#endif
