/* SPDX-License-Identifier: GPL-2.0-only */
/* How malloc() of a process that records keeps its memory. */
#ifndef FRBPF_COMMON_HEAP_H
#define FRBPF_COMMON_HEAP_H

/*
 * From now on reuse large blocks that are freed. Call it before BPF objects are loaded: for each of
 * them, libbpf reads the kernel's BTF, 5 MB, into memory twice.
 */
void heap__begin_load(void);

/*
 * Return freed memory to the system, and keep large blocks out of the heap from now on. Otherwise
 * blocks of the side band would lie in the heap among small ones. The heap never shrinks then: it
 * is locked in memory, so MADV_DONTNEED fails. By default, malloc() raises its threshold for large
 * blocks to the size of the largest freed block.
 */
void heap__end_load(void);

#endif
