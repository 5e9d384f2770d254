/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the command of a run finds the application socket. */
#ifndef FRBPF_RUN_APP_PLACE_H
#define FRBPF_RUN_APP_PLACE_H

#include "run/folder.h"

struct app_place {
	char path[PATH_MAX + 8]; /* of the socket, for the command */
	int dir_fd;		 /* the directory that it is in; -1: not made */
	char made[64];		 /* a directory of its own, to be removed; "": the output folder */
};

/*
 * In @f, which must outlive it; where the command runs as another user, who cannot enter that, in a directory
 * below /run/frbpf or /tmp which nobody but us can write to. Negative errno with words.
 */
int app_place__make(const struct folder *f, const struct child_user *user, struct app_place *ret,
		    struct err *err);
void app_place__free(struct app_place *p);

#endif
