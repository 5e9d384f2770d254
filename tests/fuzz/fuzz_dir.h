/* SPDX-License-Identifier: GPL-2.0-only */
/* A directory in memory, for code that reads files by name. */
#ifndef TESTS_FUZZ_FUZZ_DIR_H
#define TESTS_FUZZ_FUZZ_DIR_H

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char fuzz_dir[64] = "/dev/shm/frbpf-fuzz.XXXXXX";

static inline void fuzz_dir__remove(void)
{
	DIR *dir = opendir(fuzz_dir);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(fuzz_dir);
}

/* Made at the first call, removed at exit. The descriptor is never closed. */
static inline int fuzz_dir__open(void)
{
	static int fd = -1;

	if (fd < 0) {
		if (access("/dev/shm", W_OK))
			strcpy(fuzz_dir, "/tmp/frbpf-fuzz.XXXXXX");
		assert(mkdtemp(fuzz_dir) && !atexit(fuzz_dir__remove));
		fd = open(fuzz_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	assert(fd >= 0);
	return fd;
}

static inline void fuzz_dir__write(const char *name, const void *data, size_t size)
{
	int fd = openat(fuzz_dir__open(), name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

#endif
