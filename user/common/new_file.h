/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A new file that our user named. It appears complete, or not at all. Other users may make links in
 * its directory, or take names over. Their links are not followed, and no existing file is opened.
 *
 *	create: a temporary name in the same directory; write to fd; publish, or drop
 */
#ifndef FRBPF_COMMON_NEW_FILE_H
#define FRBPF_COMMON_NEW_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"

struct new_file {
	int fd;		  /* for writing */
	int directory;	  /* a handle */
	const char *name; /* in the directory; borrowed from the path */
	bool replace;
	char tmp[48];
};

/*
 * @option: the option that named @path, such as "-o", for messages. @path is borrowed. Negative
 * errno with a message in @err. -EEXIST: @path exists, and @replace is false; -ELOOP: a link of
 * another user leads there; -EINVAL: @path is empty, or exists and is not a regular file; -EISDIR.
 */
int new_file__create(const char *option, const char *path, mode_t mode, bool replace,
		     struct err *err, struct new_file *ret);
/* The same checks, but nothing is made. 0 or negative errno. */
int new_file__check(const char *option, const char *path, bool replace, struct err *err);
/*
 * Write the file to disk, and rename it to its final name. Frees @f, also on failure. 0 or negative
 * errno.
 */
int new_file__publish(struct new_file *f);
/* Remove the temporary file, and free @f. */
void new_file__drop(struct new_file *f);

/*
 * Rename in the open directory @directory. Without @replace, -EEXIST if @to exists, also on file
 * systems without RENAME_NOREPLACE.
 */
int new_file__rename(int directory, const char *from, const char *to, bool replace);

#endif
