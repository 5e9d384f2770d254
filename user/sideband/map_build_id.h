/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Build ids of mapped files that the kernel did not tell: read through the process that maps them
 * (so that another mount namespace or a deleted file does not matter), and remembered per device,
 * inode and path. Locks itself.
 */
#ifndef FRBPF_SIDEBAND_MAP_BUILD_ID_H
#define FRBPF_SIDEBAND_MAP_BUILD_ID_H

#include <stdbool.h>

#include "perfdata/build_id.h"
#include "sideband/map_list.h"

struct map_build_ids;

int map_build_ids__new(struct map_build_ids **ret); /* -ENOMEM */
void map_build_ids__free(struct map_build_ids *c);

/* The build id of the file that @pid has at [@start, @end). False: it has none, or nobody can tell
 * any more. */
bool map_build_ids__find(struct map_build_ids *c, uint32_t pid, uint64_t start, uint64_t end,
			 const struct map_file_id *file, const char *name, struct build_id *ret);

#endif
