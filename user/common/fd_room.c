// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>

#include "common/fd_room.h"

int fd_room__count(size_t *ret_open, size_t *ret_limit)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;
	struct rlimit rl;
	size_t n = 0;

	if (!dir)
		return -errno;
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	closedir(dir);
	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return -errno;
	*ret_open = n - 1; /* without the directory's own */
	*ret_limit = rl.rlim_cur;
	return 0;
}
