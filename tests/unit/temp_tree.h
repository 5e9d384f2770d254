/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of a test: writes one, and removes what the test has made below its directory. */
#ifndef TESTS_UNIT_TEMP_TREE_H
#define TESTS_UNIT_TEMP_TREE_H

#include <ftw.h>
#include <stdio.h>

/* Write a new file, or overwrite it. */
static inline void write_text_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

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
