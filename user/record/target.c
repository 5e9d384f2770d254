// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "record/target.h"

int record_target__threads(pid_t pid, pid_t **ret, size_t *ret_n)
{
	const struct dirent *e;
	size_t n = 0, cap = 0;
	pid_t *tids = NULL;
	char path[64];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && !err && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		if (ARRAY_HAS_ROOM(tids, n, cap, 16))
			tids[n++] = atoi(e->d_name);
		else
			err = -ENOMEM;
	}
	if (dir)
		closedir(dir);
	if (!err && !n)
		err = -ESRCH;
	if (err) {
		free(tids);
		return err;
	}
	*ret = tids;
	*ret_n = n;
	return 0;
}
