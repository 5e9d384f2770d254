/* SPDX-License-Identifier: GPL-2.0-only */
/* Random choices of property tests, the same in each run. */
#ifndef TESTS_UNIT_RANDOM_DRAW_H
#define TESTS_UNIT_RANDOM_DRAW_H

#include <stdint.h>

/* A number below @n. */
static inline unsigned int draw(unsigned int n)
{
	static uint64_t seed = 20261128;

	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

#define PICK(list) list[draw(ARRAY_SIZE(list))]

#endif
