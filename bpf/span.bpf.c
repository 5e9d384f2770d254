// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long it took from one tracepoint to another, matched by values that both have. The subject is the
 * task that runs at the end.
 *
 * What has begun lies in a table of a fixed size without locks, since tracepoints are hit in every
 * context: an entry is looked for in a few places that its keys tell, and is taken by exchanging its
 * state. No free place: the start is dropped, and counted. What never ended may be replaced once it is
 * older than max_age.
 *
 *	FREE ──► TAKEN ──► BEGUN ──► TAKEN ──► FREE
 *			     ▲          │
 *			     └──────────┘  begun again
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "hit.bpf.h"

char LICENSE[] SEC("license") = "GPL";

enum { SPAN_FREE, SPAN_TAKEN, SPAN_BEGUN };

#define SPAN_PLACES 8

struct span_key {
	__u64 v[FRBPF_SPAN_KEYS];
};

struct span {
	__u32 state;
	__u32 depth; /* starts that have not ended */
	struct span_key key;
	__u64 last;		       /* when it was begun, or begun again */
	__u64 begin[FRBPF_SPAN_DEPTH]; /* of each of them */
	__u32 generation;	       /* of the rules whose values are in args */
	__u32 pad;
	struct hit_value args[FRBPF_MAX_ARGS]; /* of the last start */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FRBPF_MAX_SPANS);
	__type(key, __u32);
	__type(value, struct span);
} spans SEC(".maps");

/* By half: what the start has for conditions, and what the end has. */
struct frbpf_extracts start_extracts[2];
struct frbpf_extracts end_extracts[2];
__u32 start_slots[2]; /* by half: bit per slot of the start */

/* ns; set by the daemon. */
__u64 max_age = 60000000000;

const volatile __u32 n_end_args; /* n_args is of the start */
const volatile __u32 n_keys;
const volatile bool nested;
/* Set when it is loaded, too; a global function takes no pointer to constants. */
struct frbpf_extract start_keys[FRBPF_SPAN_KEYS];
struct frbpf_extract end_keys[FRBPF_SPAN_KEYS];

static __always_inline __u64 key_value(const struct frbpf_extract *x, const struct hit_args *args)
{
	struct hit_value v = {};

	switch (x->kind) {
	case FRBPF_EXTRACT_TID:
		return (__u32)bpf_get_current_pid_tgid();
	case FRBPF_EXTRACT_PID:
		return bpf_get_current_pid_tgid() >> 32;
	case FRBPF_EXTRACT_CPU:
		return bpf_get_smp_processor_id();
	}
	extract(x, args, &v);
	return v.word[0];
}

static __always_inline __u32 key_take(struct span_key *key, const struct frbpf_extract *xs,
				      const struct hit_args *args)
{
	__u64 hash = 0;
	__u32 i;

	for (i = 0; i < FRBPF_SPAN_KEYS; i++) {
		key->v[i] = 0;
		if (i >= n_keys)
			continue;
		key->v[i] = key_value(&xs[i], args);
		hash = (hash ^ key->v[i]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	return hash >> 16;
}

static __always_inline bool same_key(const struct span_key *a, const struct span_key *b)
{
	__u64 diff = 0;

	for (__u32 i = 0; i < FRBPF_SPAN_KEYS; i++)
		diff |= a->v[i] ^ b->v[i];
	return !diff;
}

static __always_inline struct span *span_at(__u32 hash, __u32 i)
{
	__u32 at = (hash + i) % FRBPF_MAX_SPANS;

	return bpf_map_lookup_elem(&spans, &at);
}

static __always_inline __u32 span_state(const struct span *s)
{
	return *(volatile const __u32 *)&s->state;
}

static __always_inline bool span_take(struct span *s, __u32 from)
{
	return __sync_val_compare_and_swap(&s->state, from, SPAN_TAKEN) == from;
}

/* Whatever was written to it is seen by whoever takes it. */
static __always_inline void span_give(struct span *s, __u32 to)
{
	__sync_val_compare_and_swap(&s->state, SPAN_TAKEN, to);
}

static __always_inline bool is_old(const struct span *s, __u64 now)
{
	return (__s64)(now - s->last) > (__s64)max_age;
}

/* May a start be put there? 1 or 0, without a branch: the verifier would walk all that follows for
 * each of them. */
static __always_inline __u64 span_has_room(const struct span *s, __u32 state, __u64 now)
{
	__u64 begun = state / SPAN_BEGUN, old = (max_age - (now - s->last)) >> 63;

	return (not_zero(state) ^ 1) | (begun & old);
}

/* Take a place that has room. */
static __always_inline bool span_claim(struct span *s, __u64 now)
{
	if (span_take(s, SPAN_FREE))
		return true;
	if (!is_old(s, now) || !span_take(s, SPAN_BEGUN))
		return false;
	if (is_old(s, now))
		return true;
	span_give(s, SPAN_BEGUN); /* another CPU has put a start there meanwhile */
	return false;
}

/* The place that has the key, now TAKEN: -1, there is none; or, when @begin, one to put it into. */
__noinline int span_find(const struct span_key *key, __u32 hash, __u64 now, __u32 begin)
{
	__u64 rooms = 0;
	struct span *s;
	__u32 i, state;

	if (!key)
		return -1;
	for (i = 0; i < SPAN_PLACES; i++) {
		s = span_at(hash, i);
		if (!s)
			return -1;
		state = span_state(s);
		if (state == SPAN_BEGUN && same_key(&s->key, key) && !is_old(s, now)) {
			if (!span_take(s, SPAN_BEGUN))
				return -1; /* in use on another CPU, or below us */
			if (same_key(&s->key, key))
				return i;
			span_give(s, SPAN_BEGUN);
		}
		rooms |= span_has_room(s, state, now) << i;
		barrier_var(rooms);
	}
	if (!begin || !rooms)
		return -1;
	i = log2_of(rooms & -rooms);
	s = span_at(hash, i);
	if (!s || !span_claim(s, now))
		return -1;
	s->depth = 0;
	s->key = *key;
	return i;
}

static __always_inline void save_args(struct span *s, const struct hit_args *args)
{
	__u32 generation = *(volatile __u32 *)&control.generation, half = generation & 1, i;

	s->generation = generation;
	for (i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (i >= start_extracts[half].n)
			break;
		if (start_slots[half] >> i & 1)
			extract(&start_extracts[half].slot[i], args, &s->args[i]);
	}
}

/* A second start of a key is the one that counts; or, nested, one more. */
static __always_inline void begin_span(const struct hit_args *args)
{
	__u64 now = bpf_ktime_get_ns();
	struct span_key key;
	__u32 hash, depth;
	struct span *s;
	int i;

	hash = key_take(&key, start_keys, args);
	i = span_find(&key, hash, now, true);
	s = i < 0 ? NULL : span_at(hash, i);
	if (!s) {
		__sync_fetch_and_add(&missing_storage, 1);
		return;
	}
	depth = nested ? s->depth : 0;
	s->last = now;
	if (depth < FRBPF_SPAN_DEPTH)
		s->begin[depth % FRBPF_SPAN_DEPTH] = now;
	s->depth = depth + 1;
	save_args(s, args);
	span_give(s, SPAN_BEGUN);
}

SEC("raw_tp")
int span_start(__u64 *ctx)
{
	struct hit *hit;

	if (!control.half[rules_half()].n_rules)
		return 0;
	hit = hit_begin();
	if (!hit)
		return 0;
	hit_take(&hit->args, ctx, n_args);
	begin_span(&hit->args);
	hit_end(hit);
	return 0;
}

/* Values of the start into @m. Those of other rules are not the ones that are asked for. */
static __always_inline bool load_args(struct match *m, const struct span *s, __u32 half)
{
	__u32 i;

	if (!start_slots[half])
		return true;
	if (s->generation != *(volatile __u32 *)&control.generation)
		return false;
	for (i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (!(start_slots[half] >> i & 1))
			continue;
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][0] = s->args[i].word[0];
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][1] = s->args[i].word[1];
	}
	return true;
}

/* ns; -1: it is deeper than there is room for. */
static __always_inline __s64 span_value(const struct span *s, __u64 now)
{
	__u32 depth = s->depth - 1;

	return depth < FRBPF_SPAN_DEPTH ? (__s64)(now - s->begin[depth % FRBPF_SPAN_DEPTH]) : -1;
}

static __always_inline void span_leave(struct span *s)
{
	__u32 depth = s->depth - 1;

	s->depth = depth;
	span_give(s, nested && depth ? SPAN_BEGUN : SPAN_FREE);
}

static __always_inline void check_span(struct hit *hit)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 half = rules_half(), hash;
	struct match *m = NULL;
	struct span_key key;
	bool loaded = false;
	struct span *s;
	__s64 value;
	int i;

	hash = key_take(&key, end_keys, &hit->args);
	i = span_find(&key, hash, now, false);
	s = i < 0 ? NULL : span_at(hash, i);
	if (!s)
		return;
	value = span_value(s, now);
	if (value >= 0 && !rules_below(half, value)) {
		m = hit_match_begin(half);
		loaded = m && load_args(m, s, half);
	}
	span_leave(s);
	if (!loaded)
		return;
	hit_extract(&end_extracts[half], &hit->args, m);
	hit->settle = (struct settle){ .now = now, .value = value, .half = half };
	hit_run(m, hit, FRBPF_SOURCE_SPAN);
}

SEC("raw_tp")
int span_end(__u64 *ctx)
{
	struct hit *hit;

	if (!control.half[rules_half()].n_rules)
		return 0;
	hit = hit_begin();
	if (!hit)
		return 0;
	hit_take(&hit->args, ctx, n_end_args);
	check_span(hit);
	hit_end(hit);
	return 0;
}
