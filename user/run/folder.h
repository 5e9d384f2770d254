/* SPDX-License-Identifier: GPL-2.0-only */
/* The output folder of a run: a base directory of its own, new, and without a lock at the end. */
#ifndef FRBPF_RUN_FOLDER_H
#define FRBPF_RUN_FOLDER_H

#include <limits.h>

#include "dump/base/base_dir.h"
#include "run/child.h"

struct folder {
	struct base_dir base;
	bool open;
};

/* Make @path, or, NULL, frbpf-TIME in the current directory. -EEXIST, with words: it is there. */
int folder__make(const char *path, struct folder *ret, struct err *err);
/* Remove it again, with what is in it of ours, if no dump is. */
void folder__undo(struct folder *f);
/* It is complete; it and all of its files are @owner's from now on, if that is another. */
int folder__finish(struct folder *f, const struct child_user *owner, struct err *err);

#endif
