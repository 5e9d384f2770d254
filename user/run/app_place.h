/* SPDX-License-Identifier: GPL-2.0-only */
/* The place of the application socket, where the command of a run can find it. */
#ifndef FRBPF_RUN_APP_PLACE_H
#define FRBPF_RUN_APP_PLACE_H

#include <limits.h>

#include "run/output_dir.h"

struct app_place {
	char path[PATH_MAX + 8]; /* path of the socket, for the command */
	int dir_fd;		 /* the directory of the socket; -1: not made */
	/*
	 * the directory that was made for the socket, removed at the end; "": the socket is in the
	 * output directory
	 */
	char made[64];
};

/*
 * Make the place in @f, which must outlive it. A command that runs as another user cannot enter @f.
 * For such a command, the place is a directory below /run/frbpf or /tmp, and only frbpf can write
 * to it. Negative errno, message in @err.
 */
int app_place__make(const struct output_dir *f, const struct child_user *user,
		    struct app_place *ret, struct err *err);
void app_place__free(struct app_place *p);

#endif
