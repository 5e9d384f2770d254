/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Build ids of mapped files that the kernel did not tell: read, by other processes of ours, through the process that
 * maps them (so that another mount namespace or a deleted file does not matter), and remembered per device,
 * inode and path. Locks itself.
 */
#ifndef FRBPF_SIDEBAND_MAP_BUILD_ID_H
#define FRBPF_SIDEBAND_MAP_BUILD_ID_H

#include <stdbool.h>

#include "examine/examiner.h"
#include "perfdata/build_id.h"
#include "symbols/map_list.h"

struct map_build_ids;

/* @examiner is borrowed; NULL: nothing is found. -ENOMEM. */
int map_build_ids__new(struct examiner *examiner, struct map_build_ids **ret);
void map_build_ids__free(struct map_build_ids *c);

/* The build id of the file that @pid has at [@start, @end), if that is known by @deadline, ns. False: it has none, or
 * nobody can tell any more, or has told in time. */
bool map_build_ids__find(struct map_build_ids *c, uint32_t pid, uint64_t start, uint64_t end,
			 const struct map_file_id *file, const char *name, uint64_t deadline,
			 struct build_id *ret);

/* Nothing more is asked for now. */
void map_build_ids__rest(struct map_build_ids *c);

#endif
