// SPDX-License-Identifier: GPL-2.0-only
#include <malloc.h>

#include "common/heap.h"

#define KEPT_MAX    (32 * 1024 * 1024) /* bytes: the most that M_MMAP_THRESHOLD takes */
#define MAPPED_FROM (128 * 1024)       /* bytes: larger blocks are mappings of their own */
#define FREE_AT_END (128 * 1024)       /* bytes: as by default */

void heap__begin_load(void)
{
	mallopt(M_MMAP_THRESHOLD, KEPT_MAX);
	mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
}

void heap__end_load(void)
{
	mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
	mallopt(M_TRIM_THRESHOLD, FREE_AT_END);
	malloc_trim(0);
}
