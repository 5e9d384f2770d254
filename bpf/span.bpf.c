// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long it took from one tracepoint to another, matched by values that both have. The subject is the
 * task that runs at the end.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "hit.bpf.h"
#include "span_table.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* By half: what the start has for conditions, and what the end has. */
struct frbpf_extracts start_extracts[2];
struct frbpf_extracts end_extracts[2];
__u32 start_slots[2]; /* by half: bit per slot of the start */

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
		return (__u32)bpf_get_current_task_btf()->pid;
	case FRBPF_EXTRACT_PID:
		return (__u32)bpf_get_current_task_btf()->tgid;
	case FRBPF_EXTRACT_CPU:
		return bpf_get_smp_processor_id();
	}
	extract(x, args, &v);
	return v.word[0];
}

/* Returns their hash, which is never 0. */
static __always_inline __u64 key_take(struct span_key *key, const struct frbpf_extract *xs,
				      const struct hit_args *args)
{
	__u64 hash = 0;
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < FRBPF_SPAN_KEYS; i++) {
		key->v[i] = 0;
		if (i >= n_keys)
			continue;
		key->v[i] = key_value(&xs[i], args);
		hash = (hash ^ key->v[i]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	return hash | 1;
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
	__u64 now = bpf_ktime_get_ns(), hash;
	struct span_place place;
	enum span_found found;
	struct span_key key;
	struct span *s;
	__u32 depth;

	hash = key_take(&key, start_keys, args);
	found = span_find(&key, hash, &place);
	if (found == SPAN_IN_USE || (found == SPAN_NONE && !span_put(&key, hash, now, &place))) {
		__sync_fetch_and_add(&missing_storage, 1);
		return;
	}
	s = place.span;
	depth = nested && s->depth && !is_old(s, now) ? s->depth : 0;
	s->last = now;
	if (depth < FRBPF_SPAN_DEPTH)
		s->begin[depth % FRBPF_SPAN_DEPTH] = now;
	s->depth = depth + 1;
	save_args(s, args);
	span_give(&place, SPAN_BEGUN);
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

static __always_inline void span_leave(const struct span_place *place)
{
	__u32 depth = place->span->depth - 1;

	place->span->depth = depth;
	span_give(place, nested && depth ? SPAN_BEGUN : SPAN_FREE);
}

static __always_inline void check_span(struct hit *hit)
{
	__u32 half = rules_half();
	struct match *m = NULL;
	struct span_place place;
	enum span_found found;
	struct span_key key;
	bool loaded = false;
	__u64 hash, now;
	__s64 value;

	hash = key_take(&key, end_keys, &hit->args);
	found = span_find(&key, hash, &place);
	if (found == SPAN_IN_USE)
		__sync_fetch_and_add(&missing_storage, 1);
	if (found != SPAN_FOUND)
		return;
	now = bpf_ktime_get_ns();
	if (is_old(place.span, now)) {
		span_give(&place, SPAN_FREE);
		return;
	}
	value = span_value(place.span, now);
	if (value >= 0 && !rules_below(half, value)) {
		m = hit_match_begin(half);
		loaded = m && load_args(m, place.span, half);
	}
	span_leave(&place);
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
