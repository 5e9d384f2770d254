/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drops repeated naming records. Every file begins with the records that name its addresses at its
 * start. If another file said the same, and covers the time since, they are redundant.
 */
#ifndef FRBPF_ANALYSE_MERGE_MERGE_NAMES_H
#define FRBPF_ANALYSE_MERGE_MERGE_NAMES_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct merge_names { /* { 0 } is an empty one */
	struct said *said;
};

/* Does a record of this type name tasks, maps or symbols? */
bool merge_names__is_one(uint32_t type);

/*
 * Note naming record @h, at @time of file @number, which lasts until @last (ns). *ret_known: leave
 * it out. It describes the state at the start of the file (@at_start), and another file has said
 * the same and covers the time since. 0 or -ENOMEM.
 */
int merge_names__note(struct merge_names *n, const struct perf_event_header *h, size_t number,
		      uint64_t time, uint64_t last, bool at_start, bool *ret_known);
void merge_names__free(struct merge_names *n);

#endif
