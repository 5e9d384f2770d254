/* SPDX-License-Identifier: GPL-2.0-only */
/* The last pauses of one CPU's ring, which explain LOST records in it. */
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
	size_t n; /* number ever added */
};

void gap_log__add(struct gap_log *g, uint64_t paused, uint64_t resumed);
/*
 * Get the last pause that began at or before @time; false: none. A ring takes records again before
 * `resumed` is read, so a pause's LOST record may be older than `resumed`.
 */
bool gap_log__find(const struct gap_log *g, uint64_t time, uint64_t *ret_paused,
		   uint64_t *ret_resumed);

#endif
