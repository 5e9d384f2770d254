/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The output directory of a run: a new base directory that only this run uses. It has no lock after
 * the run. Also the place of its application socket.
 */
#ifndef FRBPF_RUN_OUTPUT_DIR_H
#define FRBPF_RUN_OUTPUT_DIR_H

#include <limits.h>

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

/* ---- the application socket, where the command of a run can find it ---- */

struct app_place {
	char path[PATH_MAX + 8]; /* path of the socket, for the command */
	int dir_fd;		 /* the directory of the socket; -1: not made */
	/*
	 * path of its own directory, which is removed at the end; "": it is in the output directory
	 */
	char made[64];
};

/*
 * Make the place in @f, which must outlive it. If the command runs as another user, who cannot
 * enter @f, the place is a directory below /run/frbpf or /tmp that only frbpf can write to.
 * Negative errno, message in @err.
 */
int app_place__make(const struct output_dir *f, const struct child_user *user,
		    struct app_place *ret, struct err *err);
void app_place__free(struct app_place *p);

#endif
