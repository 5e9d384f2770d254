/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opens files of other users, who can change names, directories and links at any moment. A file is
 * found first, which runs no code of a driver. Then its kind and identity are checked. Only then is
 * it opened, by the handle, so that it is the file that was checked:
 *
 *	found = foreign__find(path, flags, &st);	a handle (O_PATH) and its stat
 *	... compare st with the file that is expected ...
 *	fd = foreign__open(found);			for reading
 */
#ifndef FRBPF_COMMON_FOREIGN_H
#define FRBPF_COMMON_FOREIGN_H

#include <stdint.h>
#include <sys/stat.h>

/*
 * Root or our user chose the path (a rule, a directory of debug files). Links of root and of our
 * user are followed anywhere. Links of another user may only lead to files of that user, or to
 * files that everybody may read. Without this flag all links count as another user's.
 */
#define FOREIGN_TRUSTED 0x1
/* The path is a link below /proc/PID that leads to a file without a name: map_files/ or exe. */
#define FOREIGN_MAGIC 0x2

/*
 * Find the regular file at @path. Returns a handle (O_PATH) that the caller closes. -ENXIO: it is
 * a device, fifo or directory, or of a virtual file system; -EACCES: another user's link leads to
 * it, and not everybody may read it; or the errno of the lookup.
 */
int foreign__find(const char *path, unsigned int flags, struct stat *ret);
/* The same for the absolute path @name, as process @pid sees it. No link is followed. */
int foreign__find_of(uint32_t pid, const char *name, struct stat *ret);

/*
 * Open the handle @found for reading, close-on-exec and non-blocking. Returns a descriptor or
 * negative errno. @found stays open.
 */
int foreign__open(int found);

/*
 * Find, compare and open. @expected: device and inode that the file must have, else -ESTALE; NULL:
 * any.
 */
int foreign__open_path(const char *path, unsigned int flags, const struct stat *expected);
int foreign__open_of(uint32_t pid, const char *name, const struct stat *expected);

/*
 * Open the directory of the file @path, which our user chose. Returns a handle (O_PATH) that the
 * caller closes, or negative errno; -ELOOP: a link of another user is on the way.
 */
int foreign__directory(const char *path);

/*
 * Open or create @path, which our user chose, for appending, in a directory where others may put
 * links. Returns a descriptor or negative errno; -ELOOP: a link of another user is on the way. May
 * be a terminal or a fifo: blocks as open(2) does.
 */
int foreign__append(const char *path);
/*
 * The same, but only a regular file that is there already. -ENOENT; -ENXIO: it is something else.
 */
int foreign__append_file(const char *path);

#endif
