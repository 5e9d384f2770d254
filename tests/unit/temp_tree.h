/* SPDX-License-Identifier: GPL-2.0-only */
/* Removes what a test has made below its directory. */
#ifndef TESTS_UNIT_TEMP_TREE_H
#define TESTS_UNIT_TEMP_TREE_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/* Remove the directory with its contents, without following links. */
static inline void remove_temp_tree(const char *path)
{
	nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

#endif
