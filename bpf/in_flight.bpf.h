/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that have begun and not ended ("flights"), by key, in a preallocated hash map. Adding and
 * deleting entries costs the most, and most keys come again. So the most recently added entries are
 * kept after their flight has ended.
 *
 *	(none) --add--> IDLE (depth 0) --begin--> ACTIVE --end--> IDLE if kept, otherwise deleted
 *
 * Before including this file, a source defines struct flight_data, its data of a flight.
 */
#ifndef FRBPF_IN_FLIGHT_BPF_H
#define FRBPF_IN_FLIGHT_BPF_H

#include "engine.bpf.h"

#define ENOENT 2
#define E2BIG  7

/* The map has a key size that is set at load: shorter keys are faster. */
struct flight_key {
	__u64 v[FRBPF_SPAN_KEYS];
};

const volatile __u32 n_keys = FRBPF_SPAN_KEYS; /* words in use; set at load, too */

/* What the end of a flight usually reads is close together, in few cache lines. */
struct flight {
	__u32 busy;  /* lock: a CPU changes the entry, or has deleted it */
	__u32 depth; /* number of starts that have not ended */
	__u64 tag;   /* hash of its key */
	__u64 last;  /* ns: when it last began */
	__u32 kept;  /* the entry stays when it is idle */
	__u32 pad;
	struct flight_data data;
	__u64 seen; /* ns: when the last look saw it; may be of an earlier flight */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FRBPF_MAX_IN_FLIGHT + FRBPF_MAX_KEPT);
	__uint(key_size, sizeof(struct flight_key));
	__uint(value_size, sizeof(struct flight));
} flights SEC(".maps");

const __u8 no_flight[sizeof(struct flight)] = {};

/* ns: a flight that began longer ago is taken to have ended unseen. Set by the daemon. */
__u64 max_age = ~0ULL >> 1;

static __always_inline bool flight_is_old(const struct flight *f, __u64 now)
{
	return (__s64)(now - f->last) > (__s64)max_age;
}

/* ---- entries ---- */

/* Detects that the memory of an entry was reused for another key. */
static __always_inline __u64 flight_tag(const struct flight_key *key)
{
	__u64 tag = key->v[0];

#pragma clang loop unroll(full)
	for (__u32 i = 1; i < FRBPF_SPAN_KEYS; i++) {
		if (i < n_keys)
			tag = tag * 0x9e3779b97f4a7c15ULL + key->v[i];
	}
	return tag;
}

static __always_inline bool flight_lock(struct flight *f)
{
	return !__sync_val_compare_and_swap(&f->busy, 0, 1);
}

/* Unlock an entry. The CPU that locks it next sees what was written to it. */
static __always_inline void flight_unlock(struct flight *f)
{
#if defined(__TARGET_ARCH_x86) /* does not reorder stores */
	barrier();
	*(volatile __u32 *)&f->busy = 0;
#else
	__sync_lock_test_and_set(&f->busy, 0);
#endif
}

/* Delete a locked entry. It stays locked, so that CPUs with a pointer to it cannot use it. */
static __always_inline bool flight_delete(struct flight *f, const void *key)
{
	if (!bpf_map_delete_elem(&flights, key))
		return true;
	flight_unlock(f); /* the map was busy */
	return false;
}

/* Lock an entry for @key. False: another CPU holds it, or it now belongs to another key. */
static __always_inline bool flight_lock_as(struct flight *f, const struct flight_key *key)
{
	if (!flight_lock(f))
		return false;
	if (!f->depth) /* idle, or added just now */
		f->tag = flight_tag(key);
	if (f->tag == flight_tag(key))
		return true;
	flight_unlock(f);
	return false;
}

/* ---- room ---- */

#define SWEEP_MOST  1024	  /* entries that one sweep deletes at most */
#define SWEEP_LEAST 64		  /* if a sweep deletes fewer, there is a pause before the next */
#define SWEEP_PAUSE 1000000000ULL /* ns */

__u64 swept;	  /* number of entries deleted so far */
__u64 next_sweep; /* ns: the earliest time for the next sweep */

static long flight_sweep(void *map, const void *key, struct flight *f, const __u64 *now)
{
	if ((f->depth && !flight_is_old(f, *now)) || !flight_lock(f))
		return 0;
	if (f->depth && !flight_is_old(f, *now)) {
		flight_unlock(f);
		return 0;
	}
	return flight_delete(f, key) && (__sync_fetch_and_add(&swept, 1) + 1) % SWEEP_MOST == 0;
}

/*
 * Delete entries that are idle or too old. Walking all of them takes long, so after a sweep that
 * deleted few, the next one waits for a second. True: some were deleted.
 */
static __always_inline bool flights_sweep(__u64 now)
{
	__u64 before = *(volatile __u64 *)&swept, n;

	if ((__s64)(now - *(volatile __u64 *)&next_sweep) < 0)
		return false;
	bpf_for_each_map_elem(&flights, flight_sweep, &now, 0);
	n = *(volatile __u64 *)&swept - before;
	if (n < SWEEP_LEAST)
		next_sweep = now + SWEEP_PAUSE;
	return n > 0;
}

static struct flight_key kept_keys[FRBPF_MAX_KEPT];
static __u64 n_added;

/* Keep the entry of @key after its flight ends, instead of the entry that was kept the longest. */
static __always_inline void flight_keep(const struct flight_key *key)
{
	__u64 i = __sync_fetch_and_add(&n_added, 1) % FRBPF_MAX_KEPT;
	struct flight_key old = kept_keys[i];
	struct flight *f;

	kept_keys[i] = *key;
	f = bpf_map_lookup_elem(&flights, &old);
	if (!f)
		return;
	if (*(volatile __u32 *)&f->depth) {
		f->kept = 0;
		return;
	}
	if (!flight_lock(f))
		return;
	if (f->depth)
		flight_unlock(f);
	else
		flight_delete(f, &old);
}

/* Add an entry for the key, if there is none. Non-zero: there is no room. */
__noinline int flight_add(const struct flight_key *from, __u64 now)
{
	struct flight_key key;
	struct flight *f;
	int err;

	if (!from)
		return -E2BIG;
	key = *from; /* before 6.2 the verifier refuses an argument of a function as a key */
	flight_keep(&key);
	err = bpf_map_update_elem(&flights, &key, no_flight, BPF_NOEXIST);
	if (err == -E2BIG && flights_sweep(now))
		err = bpf_map_update_elem(&flights, &key, no_flight, BPF_NOEXIST);
	if (err)
		return err == -EEXIST ? 0 : err;
	f = bpf_map_lookup_elem(&flights, &key);
	if (f)
		f->kept = 1;
	return 0;
}

/* ---- for sources ---- */

#define FLIGHT_ATTEMPTS 3 /* another CPU may hold the entry for a moment */

/*
 * Lock the entry of @key, creating it if needed; it may be active. The source changes it and calls
 * flight_begun(). NULL: no room; this is counted.
 */
static __always_inline struct flight *flight_begin(const struct flight_key *key, __u64 now)
{
	struct flight *f;
	__u32 i;

	for (i = 0; i < FLIGHT_ATTEMPTS; i++) {
		f = bpf_map_lookup_elem(&flights, key);
		if (f && flight_lock_as(f, key))
			return f;
		if (flight_add(key, now))
			break;
	}
	__sync_fetch_and_add(&unmeasured, 1);
	return NULL;
}

static __always_inline void flight_begun(struct flight *f, __u64 now, __u32 depth)
{
	f->last = now;
	f->depth = depth;
	flight_unlock(f);
}

/*
 * Lock the entry of @key if it is active; the source then calls flight_ended(). NULL: it is not
 * active; or another CPU holds it, which is counted.
 */
static __always_inline struct flight *flight_end(const struct flight_key *key)
{
	struct flight *f = bpf_map_lookup_elem(&flights, key);

	if (!f || !*(volatile __u32 *)&f->depth)
		return NULL;
	if (!flight_lock_as(f, key)) {
		__sync_fetch_and_add(&unmeasured, 1);
		return NULL;
	}
	if (f->depth)
		return f;
	flight_unlock(f);
	return NULL;
}

/* Unlock or delete an entry; @depth starts have yet to end. */
static __always_inline void flight_ended(struct flight *f, const struct flight_key *key,
					 __u32 depth)
{
	f->depth = depth;
	if (depth || f->kept)
		flight_unlock(f);
	else
		flight_delete(f, key);
}

#endif
