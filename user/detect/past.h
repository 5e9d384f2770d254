/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cooldowns, and what rules have learnt, from before this process began. Times are ns of
 * CLOCK_MONOTONIC. Those of an earlier boot may be below zero: compare differences as signed.
 */
#ifndef FRBPF_DETECT_PAST_H
#define FRBPF_DETECT_PAST_H

#include <stddef.h>

#include "abi.h"

struct past_rule {
	__u64 id;
	__u64 last_fired;  /* 0: never */
	__u64 start_value; /* value that its cooldown began with; 0: unknown */
};

/* The value that the cooldown of @last_fired began with; 0: unknown. */
static inline __u64 past__start_value(const struct frbpf_cooldown_start *start, __u64 last_fired)
{
	return start->of == last_fired ? start->value : 0;
}

struct past_cooling {
	struct frbpf_key key;
	struct frbpf_cooling value;
};

/* The values that rules have learnt from, in buckets as in struct frbpf_learned. */
#define PAST_SLICES 10 /* slices of the time `learn`; the oldest is 0, the last is still empty */

struct past_bucket {
	__u32 slice;
	__u32 bucket;
	__u64 n;
};

struct past_learnt {
	__u64 id;	     /* rule_conf.learn_id */
	__u32 percentile_of; /* hundredths of a percent */
	__u64 percentile;    /* ns; 0: unknown */
	struct past_bucket *buckets;
	size_t n_buckets;
};

struct past {
	struct past_rule *rules;
	size_t n_rules;
	struct past_cooling *cooling; /* per process, thread, ... */
	size_t n_cooling;
	struct past_learnt *learnt;
	size_t n_learnt;
};

#endif
