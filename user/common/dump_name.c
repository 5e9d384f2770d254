// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/dump_name.h"

void dump_name__format(const char *output, const char *time, char ret[static DUMP_NAME_SIZE])
{
	snprintf(ret, DUMP_NAME_SIZE, "%s.%s", output[0] ? output : "perf.data", time);
}

const char *dump_name__time(const char *file)
{
	size_t len = strlen(file);
	const char *time = file + len - DUMP_TIME_DIGITS;

	if (len <= DUMP_TIME_DIGITS + 1 || len >= DUMP_NAME_SIZE || file[0] == '.' ||
	    time[-1] != '.' || strspn(time, "0123456789") != DUMP_TIME_DIGITS)
		return NULL;
	return time;
}

/* Look for a dump whose FILE is not perf.data. */
static int search_directory(int fd, const char *time, char ret[static DUMP_NAME_SIZE])
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = -ENOENT;
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	const struct dirent *e;

	if (!dir) {
		if (again >= 0)
			close(again);
		return -ENOENT;
	}
	while (err && (e = readdir(dir))) {
		const char *found = dump_name__time(e->d_name);

		if (!found || strcmp(found, time) != 0)
			continue;
		memcpy(ret, e->d_name, strlen(e->d_name) + 1);
		err = 0;
	}
	closedir(dir);
	return err;
}

int dump_name__find(int fd, const char *time, char ret[static DUMP_NAME_SIZE])
{
	char name[DUMP_NAME_SIZE];

	dump_name__format("", time, name);
	if (faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return search_directory(fd, time, ret);
	memcpy(ret, name, sizeof(name));
	return 0;
}
