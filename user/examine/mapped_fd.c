// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/foreign.h"
#include "common/proc_file.h"
#include "examine/mapped_fd.h"

static bool is_file(const struct stat *st, const struct map_file_id *file)
{
	return st->st_ino == file->ino && major(st->st_dev) == file->maj &&
	       minor(st->st_dev) == file->min;
}

/*
 * Pids are reused, so the process may have another file mapped there now. On btrfs and overlayfs,
 * fstat() and maps name different devices; there the path must be the same.
 */
static bool is_mapped_file(const struct stat *st, const char *map_file,
			   const struct map_file_id *file, const char *name)
{
	char path[PATH_MAX];
	ssize_t n;

	if (is_file(st, file))
		return true;
	n = readlink(map_file, path, sizeof(path));
	return n > 0 && (size_t)n == strlen(name) && !memcmp(path, name, n);
}

/*
 * A reused inode number has another generation. Some file systems do not tell it: then the number
 * must do.
 */
static bool is_generation(int fd, const struct map_file_id *file)
{
	long now = 0;

	return !file->ino_generation || ioctl(fd, FS_IOC_GETVERSION, &now) ||
	       (uint32_t)now == (uint32_t)file->ino_generation;
}

/* Takes @found over. If another file has the name now, it is not opened. */
static int open_found(int found, const struct stat *st, const struct map_file_id *file)
{
	int fd;

	if (found < 0)
		return found;
	fd = is_file(st, file) ? foreign__open(found) : -ESTALE;
	close(found);
	if (fd < 0 || is_generation(fd, file))
		return fd;
	close(fd);
	return -ESTALE;
}

static int open_map_file(uint32_t pid, uint64_t start, uint64_t end, const struct map_file_id *file,
			 const char *name)
{
	char path[MAP_FILE_PATH_MAX];
	struct stat st;

	map_file__path(pid, start, end, path);
	_cleanup_close_ int found = foreign__find(path, FOREIGN_MAGIC, &st);
	if (found < 0)
		return found;
	return is_mapped_file(&st, path, file, name) ? foreign__open(found) : -ESTALE;
}

int mapped_fd__open(uint32_t pid, uint64_t start, uint64_t end, const struct map_file_id *file,
		    const char *name)
{
	struct stat st;
	int fd = open_map_file(pid, start, end, file, name), found;

	if (fd >= 0)
		return fd;
	found = foreign__find_of(pid, name, &st);
	fd = open_found(found, &st, file);
	if (fd >= 0)
		return fd;
	found = foreign__find(name, 0, &st);
	return open_found(found, &st, file);
}
