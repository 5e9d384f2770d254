/* SPDX-License-Identifier: GPL-2.0-only */
/* When the rings of one CPU were paused, the last few times: what a LOST record in a ring is
 * explained by. */
#ifndef FRBPF_DUMP_RINGS_GAP_LOG_H
#define FRBPF_DUMP_RINGS_GAP_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GAP_LOG_SIZE 16

struct gap_log {
	struct {
		uint64_t paused, resumed; /* ns */
	} v[GAP_LOG_SIZE];
	size_t n; /* ever added */
};

void gap_log__add(struct gap_log *g, uint64_t paused, uint64_t resumed);
/* The last pause that began at or before @time; false when there is none. A ring takes records
 * again before `resumed` was read, so the LOST record of a pause can be older than its end. */
bool gap_log__find(const struct gap_log *g, uint64_t time, uint64_t *ret_paused,
		   uint64_t *ret_resumed);

#endif
