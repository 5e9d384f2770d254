/* SPDX-License-Identifier: GPL-2.0-only */
/* Growing arrays, whose room is doubled when it is used up, and binary search. */
#ifndef FRBPF_COMMON_ARRAY_H
#define FRBPF_COMMON_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * Make room for one more element in array @v_, which has @n_ elements and room for @cap_. @first_:
 * the initial room. False: out of memory; nothing has changed.
 */
#define ARRAY_HAS_ROOM(v_, n_, cap_, first_)                                                       \
	({                                                                                         \
		bool has_room_ = (n_) < (cap_);                                                    \
		if (!has_room_) {                                                                  \
			const size_t want_ = (cap_) ? 2 * (size_t)(cap_) : (first_);               \
			__typeof__(v_) more_ = NULL;                                               \
			if ((__typeof__(cap_))want_ == want_)                                      \
				more_ = reallocarray(v_, want_, sizeof(*more_));                   \
			if (more_) {                                                               \
				(v_) = more_;                                                      \
				(cap_) = want_;                                                    \
				has_room_ = true;                                                  \
			}                                                                          \
		}                                                                                  \
		has_room_;                                                                         \
	})

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
