/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lets one program at a time on each CPU use `match_room`. Before 6.2, an interrupt may run a
 * program that is already running on that CPU.
 */
#ifndef FRBPF_MATCH_LOCK_BPF_H
#define FRBPF_MATCH_LOCK_BPF_H

#include "engine.bpf.h"

/* 1: a program on this CPU uses `match_room` */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} match_locks SEC(".maps");

/* Take `match_room` for this program. NULL: it is in use, which is counted in @missed. */
static __always_inline __u64 *match_lock_take(__u64 *missed)
{
	__u32 zero = 0;
	__u64 *busy = bpf_map_lookup_elem(&match_locks, &zero);

	if (busy && *busy) {
		__sync_fetch_and_add(missed, 1);
		return NULL;
	}
	if (busy)
		*busy = 1;
	barrier();
	return busy;
}

/* Give it back: @busy is from match_lock_take(). */
static __always_inline void match_lock_give(__u64 *busy)
{
	barrier();
	*busy = 0;
}

#endif
