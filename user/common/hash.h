/* SPDX-License-Identifier: GPL-2.0-only */
/* A hash that is the same in all processes and versions. */
#ifndef FRBPF_COMMON_HASH_H
#define FRBPF_COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_FNV1A_BEGIN 0xcbf29ce484222325ULL

/* FNV-1a, 64 bit (draft-eastlake-fnv): add @len bytes to @hash, which begins as above. */
uint64_t hash_fnv1a(uint64_t hash, const void *data, size_t len);

#endif
