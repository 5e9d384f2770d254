/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which rule has which slot of the state map. A rule keeps its slot for as long as its id is in
 * force. A slot that an update frees is not given away by that same update: until its programs have
 * seen the new rules, they may still count in it.
 */
#ifndef FRBPF_DETECT_SLOTS_H
#define FRBPF_DETECT_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frbpf.h"

struct slots { /* { 0 }: all of them are free */
	struct slot {
		uint64_t id;
		bool used;
	} v[FRBPF_MAX_SLOTS];
};

/*
 * Give each of the @n ids its slot: into ret_slots[i]; ret_fresh[i]: it is new, its state must be
 * zeroed. @ret_next is the assignment then in force; @cur is not changed. 0, or -ENOSPC.
 */
int slots__assign(const struct slots *cur, const uint64_t *ids, size_t n, struct slots *ret_next,
		  uint32_t *ret_slots, bool *ret_fresh);

#endif
