/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Assigns slots of the state map to rules. A rule keeps its slot as long as its id is in force. An
 * update does not reuse slots that it frees: programs that still run with the old rules may count
 * in them.
 */
#ifndef FRBPF_DETECT_SLOTS_H
#define FRBPF_DETECT_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frbpf.h"

struct slots { /* { 0 }: all are free */
	struct slot {
		uint64_t id;
		bool used;
	} v[FRBPF_MAX_SLOTS];
};

/*
 * Give each of the @n ids a slot, ret_slots[i]. ret_fresh[i]: the slot is new, so its state must be
 * cleared. @ret_next is the new assignment; @cur stays unchanged. 0 or -ENOSPC.
 */
int slots__assign(const struct slots *cur, const uint64_t *ids, size_t n, struct slots *ret_next,
		  uint32_t *ret_slots, bool *ret_fresh);

#endif
