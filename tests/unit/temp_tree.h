/* SPDX-License-Identifier: GPL-2.0-only */
/* What a test has made below a directory of its own. */
#ifndef TESTS_UNIT_TEMP_TREE_H
#define TESTS_UNIT_TEMP_TREE_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/* With everything in it; links are not followed. */
static inline void remove_tree(const char *path)
{
	nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

#endif
