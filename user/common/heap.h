/* SPDX-License-Identifier: GPL-2.0-only */
/* How malloc() of a process that records keeps its memory. */
#ifndef FRBPF_COMMON_HEAP_H
#define FRBPF_COMMON_HEAP_H

/*
 * From now on keep large blocks that are freed for the next ones: for a time in which BPF objects
 * are loaded. libbpf reads the kernel's BTF, 5 MB, twice into memory for each of them.
 */
void heap__begin_load(void);

/*
 * Give back what was freed, and keep large blocks out of the heap from now on: blocks of the side
 * band would be in it, among small ones. Heaps are locked, so MADV_DONTNEED fails and they never
 * shrink. By default, the threshold of malloc() grows to the largest freed block.
 */
void heap__end_load(void);

#endif
