// SPDX-License-Identifier: GPL-2.0-only
#include "common/hash.h"

uint64_t hash_fnv1a(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		hash = (hash ^ *p++) * 0x100000001b3ULL;
	return hash;
}
