/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that a process has mapped, whatever its name leads to by now. */
#ifndef FRBPF_COMMON_MAP_FILE_H
#define FRBPF_COMMON_MAP_FILE_H

#include <stdint.h>

#define MAP_FILE_PATH_MAX 80

/*
 * The path, below /proc, of the file that process @pid has mapped at @start, as an event told with
 * @end. The map itself may end earlier: where the first segment of a program is executable (always on
 * arm64), the kernel tells of room for all segments, and then unmaps what is behind the first.
 * Without such a map it is a path that cannot be opened.
 */
void map_file__path(uint32_t pid, uint64_t start, uint64_t end, char ret[static MAP_FILE_PATH_MAX]);

/* Of a line of /proc/PID/maps, without its newline, which is changed: the absolute path of a file that is mapped executable,
 * without the mark of a deleted one; NULL: something else. */
const char *map_line__program(char *line, uint64_t *ret_start, uint64_t *ret_end);

#endif
