// SPDX-License-Identifier: GPL-2.0-only
#include "dump/rings/gap_log.h"

void gap_log__add(struct gap_log *g, uint64_t paused, uint64_t resumed)
{
	size_t i = g->n++ % GAP_LOG_SIZE;

	g->v[i].paused = paused;
	g->v[i].resumed = resumed;
}

bool gap_log__find(const struct gap_log *g, uint64_t time, uint64_t *ret_paused,
		   uint64_t *ret_resumed)
{
	size_t n = g->n < GAP_LOG_SIZE ? g->n : GAP_LOG_SIZE;

	for (size_t k = 1; k <= n; k++) {
		size_t i = (g->n - k) % GAP_LOG_SIZE;

		if (g->v[i].paused <= time) {
			*ret_paused = g->v[i].paused;
			*ret_resumed = g->v[i].resumed;
			return true;
		}
	}
	return false;
}
