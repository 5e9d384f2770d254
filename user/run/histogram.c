// SPDX-License-Identifier: GPL-2.0-only
#include "run/histogram.h"

struct histogram histogram__of(const struct frbpf_rule_state *st)
{
	struct histogram h = { .max = st->max_value, .sum = st->sum };

	/*
	 * add up the buckets: their sum may differ from `matched`, since the BPF programs count the
	 * two one after the other
	 */
	for (int i = 0; i < FRBPF_MAX_VALUES; i++) {
		h.buckets[i] = st->values[i];
		h.n += st->values[i];
	}
	return h;
}

uint64_t histogram__percentile(const struct histogram *h, double percent)
{
	double rank = percent / 100 * h->n, below = 0;

	for (int i = 0; i < FRBPF_MAX_VALUES; i++) {
		double low = i ? (double)(1ULL << i) : 0;
		double high = 2.0 * (double)(1ULL << i), value;

		if (!h->buckets[i] || below + h->buckets[i] < rank) {
			below += h->buckets[i];
			continue;
		}
		if (high > h->max)
			high = h->max;
		if (low > high)
			low = high;
		value = low + (high - low) * ((rank - below) / h->buckets[i]);
		return value < h->max ? (uint64_t)value : h->max;
	}
	return h->max;
}
