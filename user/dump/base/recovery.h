/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finishes or removes the incidents that a killed recorder left in a base, before the next recorder
 * starts there.
 */
#ifndef FRBPF_DUMP_BASE_RECOVERY_H
#define FRBPF_DUMP_BASE_RECOVERY_H

#include "dump/base/base_dir.h"

struct recovery_report {
	size_t finished; /* got a manifest from their draft */
	size_t adopted;	 /* got a manifest from their files and the markers in them */
	size_t removed;	 /* were being removed, or had no complete file yet */
	size_t failed;	 /* could not be changed; or their names stay "pending" */
};

/*
 * Finish each incident that has files but no manifest. Remove the rest of incidents that were being
 * removed or had no file yet. Function names that were being looked up stay "partial". A manifest
 * made here has "recovered": true. 0, or the error of reading the base.
 */
int recovery__run(const struct base_dir *b, struct recovery_report *ret);

#endif
