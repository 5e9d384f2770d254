/* SPDX-License-Identifier: GPL-2.0-only */
/* Paths below /proc that lead to a mapped file itself, whatever has its name now. */
#ifndef FRBPF_COMMON_MAP_FILE_H
#define FRBPF_COMMON_MAP_FILE_H

#include <stdint.h>

#define MAP_FILE_PATH_MAX 80

/*
 * The path of the file that process @pid has mapped at [@start, @end), as an event reported it.
 * The mapping may end earlier. If the first segment of a program is executable (always on arm64),
 * the kernel reports room for all segments, and then unmaps what is behind the first. Without such
 * a mapping the path cannot be opened.
 */
void map_file__path(uint32_t pid, uint64_t start, uint64_t end, char ret[static MAP_FILE_PATH_MAX]);

/*
 * Parse a line of /proc/PID/maps in place; it has no newline. Returns the absolute path of a file
 * that is mapped executable, without " (deleted)". NULL: it is another kind of mapping.
 */
const char *map_line__program(char *line, uint64_t *ret_start, uint64_t *ret_end);

#endif
