/* SPDX-License-Identifier: GPL-2.0-only */
/* Opens a file that a process has mapped, and no other. */
#ifndef FRBPF_EXAMINE_MAPPED_FD_H
#define FRBPF_EXAMINE_MAPPED_FD_H

#include "symbols/map_list.h"

/*
 * The file that @pid has at [@start, @end), known as @name: as the process has it, then by its path there; when it has
 * ended, as we have that path. A descriptor that is the caller's, or a negative errno; -ESTALE: another file has the
 * name. On a file system that hangs this does, too.
 */
int mapped_fd__open(uint32_t pid, uint64_t start, uint64_t end, const struct map_file_id *file,
		    const char *name);

#endif
