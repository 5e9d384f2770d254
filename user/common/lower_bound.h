/* SPDX-License-Identifier: GPL-2.0-only */
/* Binary search. */
#ifndef FRBPF_COMMON_LOWER_BOUND_H
#define FRBPF_COMMON_LOWER_BOUND_H

#include <stddef.h>

/*
 * The index of the first of @n_ sorted elements for which @below_ is false; @n_: there is none.
 * @below_ uses the index @i_: LOWER_BOUND(i, n, v[i].time < time).
 */
#define LOWER_BOUND(i_, n_, below_)                                                                \
	({                                                                                         \
		size_t from_ = 0, to_ = (n_);                                                      \
                                                                                                   \
		while (from_ < to_) {                                                              \
			size_t i_ = from_ + (to_ - from_) / 2;                                     \
                                                                                                   \
			if (below_)                                                                \
				from_ = i_ + 1;                                                    \
			else                                                                       \
				to_ = i_;                                                          \
		}                                                                                  \
		from_;                                                                             \
	})

#endif
