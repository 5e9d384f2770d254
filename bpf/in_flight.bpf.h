/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What has begun and not ended, by its key: a preallocated hash map of the kernel. To add an entry and to delete it
 * takes longer than all else, so the last entries that were added stay when what they are about has ended: most keys
 * come again.
 *
 *	(none) --add--> IDLE (depth 0) --begin--> ACTIVE --end--> IDLE, if it is kept; else deleted
 *
 * Before it includes this, a source defines struct flight_data: what it knows of one.
 */
#ifndef FRBPF_IN_FLIGHT_BPF_H
#define FRBPF_IN_FLIGHT_BPF_H

#include "engine.bpf.h"

#define ENOENT 2
#define E2BIG  7

/* Its size is set when it is loaded: shorter ones are faster. */
struct flight_key {
	__u64 v[FRBPF_SPAN_KEYS];
};

const volatile __u32 n_keys = FRBPF_SPAN_KEYS; /* of these; likewise */

/* What the end of most looks at lies in as few cache lines as it can. */
struct flight {
	__u32 busy;  /* a CPU changes it, or has deleted it */
	__u32 depth; /* starts that have not ended */
	__u64 tag;   /* of its key */
	__u64 last;  /* when it was begun, or begun again */
	__u32 kept;  /* it stays when it is idle */
	__u32 pad;
	struct flight_data data;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FRBPF_MAX_IN_FLIGHT + FRBPF_MAX_KEPT);
	__uint(key_size, sizeof(struct flight_key));
	__uint(value_size, sizeof(struct flight));
} flights SEC(".maps");

const __u8 no_flight[sizeof(struct flight)] = {};

/* ns: one that began longer ago will never end. Set by the daemon. */
__u64 max_age = ~0ULL >> 1;

static __always_inline bool flight_is_old(const struct flight *f, __u64 now)
{
	return (__s64)(now - f->last) > (__s64)max_age;
}

/* ---- entries ---- */

/* Tells an entry from one that has come to lie in its place. */
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

/* Whatever was written to it is seen by whoever locks it next. */
static __always_inline void flight_unlock(struct flight *f)
{
#if defined(__TARGET_ARCH_x86) /* stores are seen in their order */
	barrier();
	*(volatile __u32 *)&f->busy = 0;
#else
	__sync_lock_test_and_set(&f->busy, 0);
#endif
}

/* One that is locked. It stays so: whoever still has a pointer to it must not take it. */
static __always_inline bool flight_delete(struct flight *f, const void *key)
{
	if (!bpf_map_delete_elem(&flights, key))
		return true;
	flight_unlock(f); /* the map was locked */
	return false;
}

/* false: another CPU has it at this moment, or it is of another key by now. */
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

#define SWEEP_MOST  1024	  /* entries that are deleted at once */
#define SWEEP_LEAST 64		  /* less is not worth another look soon */
#define SWEEP_PAUSE 1000000000ULL /* ns */

__u64 swept;	  /* entries, so far */
__u64 next_sweep; /* not before that time */

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

/* Delete what is idle or too old. Looking at all entries takes a while: if that is of no use, not again for a second. */
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

/* The next key to be kept takes the place of the one that has been longest. */
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

/* Add an entry for the key, unless there is one. Not 0: there is no room. */
__noinline int flight_add(const struct flight_key *from, __u64 now)
{
	struct flight_key key;
	struct flight *f;
	int err;

	if (!from)
		return -E2BIG;
	key = *from; /* before 6.2 the verifier takes no key from a function's argument */
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

/* ---- what a source does ---- */

#define FLIGHT_ATTEMPTS 3 /* another CPU may have it for a moment */

/* The entry of @key, which may be active, to be changed and given to flight_begun(). NULL, which is counted: there is
 * no room for it. */
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
	__sync_fetch_and_add(&missing_storage, 1);
	return NULL;
}

static __always_inline void flight_begun(struct flight *f, __u64 now, __u32 depth)
{
	f->last = now;
	f->depth = depth;
	flight_unlock(f);
}

/* The entry of @key if it is active, for flight_ended(). NULL: it is not; or another CPU has it, which is counted. */
static __always_inline struct flight *flight_end(const struct flight_key *key)
{
	struct flight *f = bpf_map_lookup_elem(&flights, key);

	if (!f || !*(volatile __u32 *)&f->depth)
		return NULL;
	if (!flight_lock_as(f, key)) {
		__sync_fetch_and_add(&missing_storage, 1);
		return NULL;
	}
	if (f->depth)
		return f;
	flight_unlock(f);
	return NULL;
}

/* @depth starts are left. */
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
