/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of a fixed size without locks. An entry lies in one of the few places of a line, which its key
 * tells; the tags of these places lie side by side, apart from the entries: they are all that is looked at
 * for most. A place is taken by exchanging its tag, which is 0 while it is free.
 */
#ifndef FRBPF_PLACES_BPF_H
#define FRBPF_PLACES_BPF_H

#define PLACES	 8 /* tags of a cache line */
#define NO_PLACE PLACES

/* 0, which the verifier does not know. */
__u32 no_offset;

/* The first place of the line whose tag is @tag, but for the low bits, @shift of them; or NO_PLACE. */
static __always_inline __u32 place_with(const volatile __u64 *line, __u64 tag, __u32 shift)
{
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < PLACES; i++) {
		if (line[i] >> shift == tag >> shift)
			break;
	}
	return i;
}

/* Which one it is the verifier must not know, or it would walk what follows for each of them. */
static __always_inline __u32 any_place(__u32 i)
{
	return (i + *(volatile __u32 *)&no_offset) % PLACES;
}

static __always_inline bool place_change(__u64 *tag, __u64 from, __u64 to)
{
	return __sync_val_compare_and_swap(tag, from, to) == from;
}

#endif
