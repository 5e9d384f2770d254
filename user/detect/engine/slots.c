// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "detect/engine/slots.h"

/* The slot @id has in @cur, unless an earlier rule of the same id took it over into @next. */
static int find_kept(const struct slots *cur, const struct slots *next, uint64_t id)
{
	for (int i = 0; i < FRBPF_MAX_SLOTS; i++) {
		if (cur->v[i].used && cur->v[i].id == id && !next->v[i].used)
			return i;
	}
	return -1;
}

static int find_free(const struct slots *cur, const struct slots *next)
{
	for (int i = 0; i < FRBPF_MAX_SLOTS; i++) {
		if (!cur->v[i].used && !next->v[i].used)
			return i;
	}
	return -1;
}

int slots__assign(const struct slots *cur, const uint64_t *ids, size_t n, struct slots *ret_next,
		  uint32_t *ret_slots, bool *ret_fresh)
{
	memset(ret_next, 0, sizeof(*ret_next));
	for (size_t i = 0; i < n; i++) {
		int slot = find_kept(cur, ret_next, ids[i]);

		ret_fresh[i] = slot < 0;
		if (slot < 0)
			slot = find_free(cur, ret_next);
		if (slot < 0)
			return -ENOSPC;
		ret_next->v[slot].used = true;
		ret_next->v[slot].id = ids[i];
		ret_slots[i] = slot;
	}
	return 0;
}
