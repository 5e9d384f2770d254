/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What has begun and not ended: see places.bpf.h. What never ended may be replaced once it is older than
 * max_age.
 *
 *	FREE ──► TAKEN ──► BEGUN ──► TAKEN ──► FREE
 *			     ▲          │
 *			     └──────────┘  begun again
 */
#ifndef FRBPF_SPAN_TABLE_BPF_H
#define FRBPF_SPAN_TABLE_BPF_H

#include "hit.bpf.h"
#include "places.bpf.h"

/* The low bits of a tag; the others are of the hash of the keys, which is never 0. That of a free place is. */
enum { SPAN_FREE, SPAN_TAKEN, SPAN_BEGUN };
#define SPAN_STATE_BITS 2

struct span_key {
	__u64 v[FRBPF_SPAN_KEYS];
};

struct span {
	__u32 depth;	  /* starts that have not ended */
	__u32 generation; /* of the rules whose values are in args */
	struct span_key key;
	__u64 last;			       /* when it was begun, or begun again */
	__u64 begin[FRBPF_SPAN_DEPTH];	       /* of each of them */
	struct hit_value args[FRBPF_MAX_ARGS]; /* of the last start */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FRBPF_MAX_SPANS);
	__type(key, __u32);
	__type(value, struct span);
} spans SEC(".maps");

#define SPAN_LINES (FRBPF_MAX_SPANS / PLACES)
__u64 tags[SPAN_LINES][PLACES] __attribute__((aligned(64)));

/* ns; set by the daemon. */
__u64 max_age = 60000000000;

/* One that is TAKEN, by us. */
struct span_place {
	struct span *span;
	__u64 *tag;
	__u64 hash; /* of its keys */
};

static __always_inline __u64 tag_of(__u64 hash, __u32 state)
{
	return state == SPAN_FREE ? 0 : hash << SPAN_STATE_BITS | state;
}

static __always_inline __u32 line_of(__u64 hash)
{
	return (hash >> 16) % SPAN_LINES;
}

/* Take place @i, if its tag is still that. */
static __always_inline bool place_take(__u64 hash, __u32 i, __u64 tag, struct span_place *ret)
{
	__u32 line = line_of(hash), at;

	i = any_place(i);
	at = line * PLACES + i;
	ret->span = bpf_map_lookup_elem(&spans, &at);
	ret->tag = &tags[line][i];
	ret->hash = hash;
	return ret->span && place_change(ret->tag, tag, tag_of(hash, SPAN_TAKEN));
}

/* Whatever was written to it is seen by whoever takes it. */
static __always_inline void span_give(const struct span_place *place, __u32 state)
{
	place_change(place->tag, tag_of(place->hash, SPAN_TAKEN), tag_of(place->hash, state));
}

static __always_inline bool is_old(const struct span *s, __u64 now)
{
	return (__s64)(now - s->last) > (__s64)max_age;
}

static __always_inline bool same_key(const struct span_key *a, const struct span_key *b)
{
	__u64 diff = 0;

	for (__u32 i = 0; i < FRBPF_SPAN_KEYS; i++)
		diff |= a->v[i] ^ b->v[i];
	return !diff;
}

enum span_found { SPAN_FOUND, SPAN_NONE, SPAN_IN_USE };

/* Take the one of this key. SPAN_IN_USE: another CPU has it at this moment, or it is of a key of the same
 * hash. */
static __always_inline enum span_found span_find(const struct span_key *key, __u64 hash,
						 struct span_place *ret)
{
	__u64 tag = tag_of(hash, SPAN_BEGUN);
	__u32 i = place_with(tags[line_of(hash)], tag, SPAN_STATE_BITS);

	if (i == NO_PLACE)
		return SPAN_NONE;
	if (!place_take(hash, i, tag, ret))
		return SPAN_IN_USE;
	if (same_key(&ret->span->key, key))
		return SPAN_FOUND;
	span_give(ret, SPAN_BEGUN);
	return SPAN_IN_USE;
}

/* The place of one that never ended; NO_PLACE. */
__noinline int place_of_old(__u64 hash, __u64 now)
{
	__u32 line = line_of(hash), i, at;
	struct span *s;

	for (i = 0; i < PLACES; i++) {
		at = line * PLACES + i;
		s = bpf_map_lookup_elem(&spans, &at);
		if (s && tags[line][i] & SPAN_BEGUN && is_old(s, now))
			return i;
	}
	return NO_PLACE;
}

/* Has another CPU begun the same meanwhile? Of two that take a place at the same time one or both see it. */
__noinline int has_twin(__u64 hash)
{
	const volatile __u64 *line = tags[line_of(hash)];
	__u64 tag = tag_of(hash, SPAN_TAKEN);
	__u32 i, n = 0;

	for (i = 0; i < PLACES; i++)
		n += line[i] >> SPAN_STATE_BITS == tag >> SPAN_STATE_BITS;
	return n > 1;
}

/* Take one for a new entry. false: there is no room for it, or it has a twin. */
static __always_inline bool span_put(const struct span_key *key, __u64 hash, __u64 now,
				     struct span_place *ret)
{
	__u32 i = place_with(tags[line_of(hash)], 0, 0);
	__u64 tag = 0;

	if (i == NO_PLACE) {
		i = place_of_old(hash, now);
		if (i >= NO_PLACE)
			return false;
		tag = *(volatile __u64 *)&tags[line_of(hash)][i];
		if (tag & SPAN_TAKEN)
			return false;
	}
	if (!place_take(hash, i, tag, ret))
		return false;
	if (tag && !is_old(ret->span, now)) { /* it was begun again meanwhile */
		place_change(ret->tag, tag_of(hash, SPAN_TAKEN), tag);
		return false;
	}
	if (has_twin(hash)) {
		span_give(ret, SPAN_FREE);
		return false;
	}
	ret->span->depth = 0;
	ret->span->key = *key;
	return true;
}

#endif
