// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/map_file.h"

/* Get the real end of the mapping at @start. False: there is none. */
static bool find_end(uint32_t pid, uint64_t start, uint64_t *ret)
{
	_cleanup_fclose_ FILE *maps = NULL;
	_cleanup_free_ char *line = NULL;
	char path[MAP_FILE_PATH_MAX];
	uint64_t from, to;
	size_t size = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	maps = fopen(path, "re");
	while (maps && getline(&line, &size, maps) > 0) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2 || from > start)
			return false;
		if (from == start) {
			*ret = to;
			return true;
		}
	}
	return false;
}

void map_file__path(uint32_t pid, uint64_t start, uint64_t end, char ret[static MAP_FILE_PATH_MAX])
{
	static const char format[] = "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64;
	struct stat st;
	uint64_t real;

	snprintf(ret, MAP_FILE_PATH_MAX, format, pid, start, end);
	if (!lstat(ret, &st) || errno != ENOENT)
		return;
	if (find_end(pid, start, &real) && real < end)
		snprintf(ret, MAP_FILE_PATH_MAX, format, pid, start, real);
}

static void strip_deleted(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path), end = sizeof(deleted) - 1;

	if (len > end && !strcmp(path + len - end, deleted))
		path[len - end] = '\0';
}

const char *map_line__program(char *line, uint64_t *ret_start, uint64_t *ret_end)
{
	char perms[5] = "";
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", ret_start, ret_end, perms,
		   &at) < 3 ||
	    !at || perms[2] != 'x' || line[at] != '/')
		return NULL;
	strip_deleted(line + at);
	return line + at;
}
