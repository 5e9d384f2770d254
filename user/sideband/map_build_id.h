/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds build ids of mapped files for which the kernel gave none. The examiner's processes read
 * each file through a process that maps it, so other mount namespaces and deleted files are no
 * obstacle. Results are cached by device, inode and path. Locks itself.
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

/*
 * Find the build id of the file that @pid maps at [@start, @end). @deadline: ns, CLOCK_MONOTONIC.
 * False: the file has none, it cannot be read any more, or no answer came in time.
 */
bool map_build_ids__find(struct map_build_ids *c, uint32_t pid, uint64_t start, uint64_t end,
			 const struct map_file_id *file, const char *name, uint64_t deadline,
			 struct build_id *ret);

/* End the examiner's processes for build ids. Call it when no requests follow for now. */
void map_build_ids__rest(struct map_build_ids *c);

#endif
