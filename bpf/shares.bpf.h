/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shares of time: the sum of the values of a rule in its window, separately for each CPU, cgroup
 * ... A value is spread over the slices that it lasted through. The oldest slice counts in
 * proportion to the part of it that the window still covers.
 */
#ifndef FRBPF_SHARES_BPF_H
#define FRBPF_SHARES_BPF_H

#include "rates.bpf.h"

/* Can the share be found without the subject? */
static __always_inline bool share_is_of_cpu(const struct frbpf_rule *rule)
{
	return rule->share.per == FRBPF_PER_RULE ||
	       (rule->share.per == FRBPF_PER_FIELD && rule->share.field == FRBPF_FIELD_CPU);
}

/* Get the share that this match belongs to; NULL: no room for a new one. */
static __always_inline struct frbpf_share *
share_of(const struct frbpf_rule *rule, struct frbpf_rule_state *st, const struct match *m)
{
	struct frbpf_share *share;
	struct frbpf_key key;
	__u32 slot = rule->slot;
	void *shares = bpf_map_lookup_elem(&sharing, &slot);

	if (!shares)
		return NULL;
	key_of(rule, &rule->share, m, &key);
	share = bpf_map_lookup_elem(shares, &key);
	if (share)
		return share;
	/* the first CPU creates the entry */
	if (!bpf_map_update_elem(shares, &key, &no_share, BPF_NOEXIST))
		key_made(rule, st);
	return bpf_map_lookup_elem(shares, &key);
}

#define SHARE_SUM_MASK ((1ULL << FRBPF_SHARE_SUM_BITS) - 1)

/* The bits above the sum of a slice. */
static __always_inline __u64 share_lap(__u64 slice)
{
	return slice / FRBPF_SHARE_BUCKETS << FRBPF_SHARE_SUM_BITS;
}

static __always_inline __u64 *share_bucket(struct frbpf_share *s, __u64 slice)
{
	return &s->slices[slice % FRBPF_SHARE_BUCKETS];
}

/* Add @ns to a slice. Gives up after a few attempts, each lost to another CPU. */
static __always_inline void share_put(struct frbpf_share *s, __u64 slice, __u64 ns)
{
	__u64 *at = share_bucket(s, slice), old, lap = share_lap(slice);

	for (__u32 i = 0; i < 4; i++) {
		old = *(volatile __u64 *)at;
		if (__sync_val_compare_and_swap(
			    at, old, (old & ~SHARE_SUM_MASK) == lap ? old + ns : (lap | ns)) == old)
			break;
	}
}

static __always_inline __u64 share_get(struct frbpf_share *s, __u64 slice)
{
	__u64 v = *(volatile __u64 *)share_bucket(s, slice);

	return (v & ~SHARE_SUM_MASK) == share_lap(slice) ? v & SHARE_SUM_MASK : 0;
}

/* Add m->value, which ends at m->now, and store the sum of the window in m->sum. */
__noinline int share_add(struct frbpf_share *s, const struct frbpf_rate *rate, struct match *m)
{
	__u64 length, slice, start, begin, end, n, i;

	if (!s || !rate || !m)
		return 0;
	length = rate->time / FRBPF_SHARE_SLICES;
	if (!length)
		return 0;
	slice = m->now / length;
	start = slice * length;
	end = m->now;
	begin = m->value < rate->time ? m->now - m->value : m->now - rate->time;
	s->until = m->now + rate->time;
	m->sum = 0;
	for (i = 0; i <= FRBPF_SHARE_SLICES; i++) {
		if (begin < end)
			share_put(s, slice, end - (begin > start ? begin : start));
		n = share_get(s, slice);
		if (i == FRBPF_SHARE_SLICES) /* no overflow: a sum has 48 bits, a length 37 */
			n = ((n >> 10) * ((length - (m->now - start - i * length)) >> 10) /
			     ((length >> 10) + 1))
			    << 10;
		m->sum += n;
		if (!slice--) /* the machine started in this slice */
			break;
		end = start;
		start -= length;
	}
	return 0;
}

#endif
