/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether others could put something else where the base is. */
#ifndef FRBPF_DUMP_BASE_BASE_PATH_H
#define FRBPF_DUMP_BASE_BASE_PATH_H

#include "common/err.h"

/*
 * Every directory above the absolute @path, and every symbolic link on the way there, must be root's
 * or ours, and nobody else may write to a directory unless it is sticky, as /tmp is. What is not there
 * yet is not looked at. The last component is the caller's to check. -EPERM with words.
 */
int base_path__check(const char *path, struct err *err);

#endif
