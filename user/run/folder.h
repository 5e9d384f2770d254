/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The output folder of a run: a new base directory that only this run uses. It has no lock after
 * the run.
 */
#ifndef FRBPF_RUN_FOLDER_H
#define FRBPF_RUN_FOLDER_H

#include <limits.h>

#include "dump/base/base_dir.h"
#include "run/child.h"

struct folder {
	struct base_dir base;
	bool open;
};

/*
 * Make @path, or, for NULL, frbpf-TIME in the current directory. Negative errno, message in @err;
 * -EEXIST: @path exists.
 */
int folder__make(const char *path, struct folder *ret, struct err *err);
/* Remove the files that frbpf made in it, and the folder, unless it has a dump. */
void folder__undo(struct folder *f);
/*
 * The folder is complete. If @owner is another user, give it and its files to that user. Negative
 * errno, message in @err.
 */
int folder__finish(struct folder *f, const struct child_user *owner, struct err *err);

#endif
