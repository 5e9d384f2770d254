/* SPDX-License-Identifier: GPL-2.0-only */
/* Opens a file that a process has mapped, even if the name now belongs to another file. */
#ifndef FRBPF_EXAMINE_MAPPED_FD_H
#define FRBPF_EXAMINE_MAPPED_FD_H

#include "symbols/map_list.h"

/*
 * Open the file @file that @pid has mapped at [@start, @end) as @name. Tries the mapping, then the
 * path in the process's root, then in ours. Returns a descriptor that the caller closes, or
 * negative errno; -ESTALE: another file has the name. Blocks for as long as the file system does.
 */
int mapped_fd__open(uint32_t pid, uint64_t start, uint64_t end, const struct map_file_id *file,
		    const char *name);

#endif
