/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks that other users cannot replace the base. */
#ifndef FRBPF_DUMP_BASE_BASE_PATH_H
#define FRBPF_DUMP_BASE_BASE_PATH_H

#include "common/err.h"

/*
 * Check each directory above the absolute @path, and each symbolic link on the way. They must be
 * root's or ours, and others must not be able to write to a directory unless it is sticky, like
 * /tmp. Missing directories are skipped. The caller checks the last component. 0, or -EPERM with a
 * message in @err.
 */
int base_path__check(const char *path, struct err *err);

#endif
