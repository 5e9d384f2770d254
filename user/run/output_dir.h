/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The output directory of a run: a new base directory that only this run uses. It has no lock after
 * the run.
 */
#ifndef FRBPF_RUN_OUTPUT_DIR_H
#define FRBPF_RUN_OUTPUT_DIR_H

#include "dump/base/base_dir.h"
#include "run/child.h"

struct output_dir {
	struct base_dir base;
	bool open;
};

/*
 * Make @path, or, for NULL, frbpf-TIME in the current directory. Negative errno, message in @err;
 * -EEXIST: @path exists.
 */
int output_dir__make(const char *path, struct output_dir *ret, struct err *err);
/* Remove the files that frbpf made in it, and the directory, unless it has a dump. */
void output_dir__undo(struct output_dir *f);
/*
 * The directory is complete. If @owner is another user, give it and its files to that user.
 * Negative errno, message in @err.
 */
int output_dir__finish(struct output_dir *f, const struct child_user *owner, struct err *err);

#endif
