/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches files that editors and tools replace. It watches their directories, so it sees a rename
 * over a file as well as a write into it. Life: new, follow and changed as often as needed, free.
 */
#ifndef FRBPF_DAEMON_RULES_WATCH_H
#define FRBPF_DAEMON_RULES_WATCH_H

#include <stdbool.h>

#include "common/err.h"

struct rules_watch;

/* Make a watch that follows no file yet. 0 or negative errno with a message in @err. */
int rules_watch__new(struct err *err, struct rules_watch **ret);
/* Readable when rules_watch__changed() has something to report. */
int rules_watch__fd(const struct rules_watch *w);

/*
 * Watch the files of the list @path (each absolute, see rules_files.h) and no others; NULL: none.
 * Symbolic links on the way to a file are watched too: a changed link is a changed file. 1:
 * watching began; 0: they were watched already, or @path is NULL; or negative errno with a message
 * in @err, and none is watched.
 */
int rules_watch__follow(struct rules_watch *w, const char *path, struct err *err);

/*
 * Read the pending events. True: a file was written and closed, or replaced, since the last call.
 * -ESTALE: the directories are gone, and nothing is watched any more.
 */
int rules_watch__changed(struct rules_watch *w);

void rules_watch__free(struct rules_watch *w);

#endif
