/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files of somebody else: programs and libraries that others run, whose names, folders and links they can
 * change at any moment. What is there is first found, which runs no driver's code; then looked at; and only
 * then opened, by the descriptor, so that it is the very file that was looked at:
 *
 *	found = foreign__find(path, flags, &st);	a handle (O_PATH), and what it is
 *	... compare st with the file that is meant ...
 *	fd = foreign__open(found);			to be read
 */
#ifndef FRBPF_COMMON_FOREIGN_H
#define FRBPF_COMMON_FOREIGN_H

#include <stdint.h>
#include <sys/stat.h>

/* The path is root's or our user's choice (a rule, a folder of debug files): links in it that are root's or
 * our user's are followed wherever they lead. Those of somebody else only lead to his own files, and to what everybody
 * may read. Without it, all links are somebody else's. */
#define FOREIGN_TRUSTED 0x1
/* It is one of the links below /proc/PID that lead to a file itself, whatever its name: map_files/ and exe. */
#define FOREIGN_MAGIC 0x2

/*
 * A handle on the regular file at @path, which is the caller's to close and cannot be read from. -ENXIO: it is no
 * regular file of a real file system, but a device, a fifo, a folder, or of /proc and the like; -EACCES: a link leads to
 * it, and not everybody may read it; or the errno of finding it.
 */
int foreign__find(const char *path, unsigned int flags, struct stat *ret);
/* The same for what process @pid has mapped or sees as @name, an absolute path. No link is followed. */
int foreign__find_of(uint32_t pid, const char *name, struct stat *ret);

/* Open what was found for reading: close-on-exec, without waiting for anything. Negative errno. @found stays the
 * caller's. */
int foreign__open(int found);

/* All in one. @expected: device and inode that it must have, else -ESTALE; NULL: any. */
int foreign__open_path(const char *path, unsigned int flags, const struct stat *expected);
int foreign__open_of(uint32_t pid, const char *name, const struct stat *expected);

#endif
