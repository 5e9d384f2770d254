/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An incident is whole or it is not there: what a recorder that was killed has left in a base is
 * finished or removed before the next one records into it.
 */
#ifndef FRBPF_DUMP_BASE_RECOVERY_H
#define FRBPF_DUMP_BASE_RECOVERY_H

#include "dump/base/base_dir.h"

struct recovery_report {
	size_t finished; /* got their manifest, from their draft */
	size_t adopted;	 /* got one that has their files, and what the markers in these say */
	size_t removed;	 /* were being removed, or had no whole file yet */
	size_t failed;	 /* were left as they are, or with names that are "pending" for good */
};

/*
 * Finish every incident that has files and no manifest, and remove what is left of those that were
 * being removed or had no file yet. Names of functions that were being looked up stay "partial". A manifest that is made here says "recovered": true. 0, or why
 * the base cannot be read.
 */
int recovery__run(const struct base_dir *b, struct recovery_report *ret);

#endif
