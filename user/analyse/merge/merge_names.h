/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every file begins with what names its addresses: the state at its start. A file whose time
 * another file covers repeats what that one has said.
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

/* Whether a record of this type names tasks, maps or symbols. */
bool merge_names__is_one(uint32_t type);

/*
 * Note naming record @h at @time of file @number, which lasts until @last (ns). *ret_known: it is of
 * the state at the file's start (@at_start), and another file has said it and covers the time since:
 * not to be written. 0 or -ENOMEM.
 */
int merge_names__note(struct merge_names *n, const struct perf_event_header *h, size_t number,
		      uint64_t time, uint64_t last, bool at_start, bool *ret_known);
void merge_names__free(struct merge_names *n);

#endif
