/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes allocations fail: malloc(), calloc() and realloc() of the whole program, with all threads
 * and children.
 */
#ifndef FRBPF_TEST_FAILING_ALLOC_H
#define FRBPF_TEST_FAILING_ALLOC_H

#include <errno.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/call_filter.h"

#define PLACES_MAX  16384
#define PLACE_DEPTH 24 /* frames that identify a place */

/*
 * A place is a call stack that allocates. The order of allocations depends on the threads; the
 * places do not.
 */
struct place {
	uint64_t id; /* 0: free */
	long n;	     /* allocations from there */
};

static struct {
	long done;	/* allocations so far */
	long nth;	/* the allocation that fails; 0: none */
	uint64_t place; /* where allocation @at fails */
	long at;	/* counts the allocations from @place only; 0: none fails */
	long reached;
	struct place *places; /* table of PLACES_MAX, shared with children; NULL: no count */
} alloc;

/* Let allocation @n from now fail, and only that one; 0: none. */
static inline void alloc__fail_nth(long n)
{
	alloc.done = 0;
	alloc.nth = n;
}

/* Let allocation @at from @place fail, counted from now; @at 0: none. */
static inline void alloc__fail_at(uint64_t place, long at)
{
	alloc.place = place;
	alloc.reached = 0;
	alloc.at = at;
}

/* A table for alloc.places. NULL: no memory. It is never freed. */
static inline struct place *places__new(void)
{
	void *p = mmap(NULL, PLACES_MAX * sizeof(struct place), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

#if defined(__GLIBC__) && !IS_SANITIZED
#define ALLOC_CAN_FAIL true

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static __thread bool alloc_in_backtrace; /* backtrace() itself may allocate */

static uint64_t alloc__place(void)
{
	uint64_t id = 0xcbf29ce484222325ULL; /* FNV-1a */
	void *calls[PLACE_DEPTH];
	int n;

	alloc_in_backtrace = true;
	n = backtrace(calls, PLACE_DEPTH);
	alloc_in_backtrace = false;
	for (int i = 0; i < n; i++)
		id = (id ^ (uintptr_t)calls[i]) * 0x100000001b3ULL;
	return id | 1;
}

static void alloc__count_place(uint64_t id)
{
	for (uint64_t i = 0; i < PLACES_MAX; i++) {
		struct place *p = &alloc.places[(id + i) % PLACES_MAX];
		uint64_t is = 0;

		if (__atomic_compare_exchange_n(&p->id, &is, id, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED) ||
		    is == id) {
			__atomic_add_fetch(&p->n, 1, __ATOMIC_RELAXED);
			return;
		}
	}
	abort(); /* the table is too small */
}

static bool alloc__place_fails(void)
{
	uint64_t id;

	if (alloc_in_backtrace || (!alloc.places && !alloc.at))
		return false;
	id = alloc__place();
	if (alloc.places)
		alloc__count_place(id);
	return alloc.at && id == alloc.place &&
	       __atomic_add_fetch(&alloc.reached, 1, __ATOMIC_RELAXED) == alloc.at;
}

static bool alloc__fails(void)
{
	bool fails = __atomic_add_fetch(&alloc.done, 1, __ATOMIC_RELAXED) == alloc.nth;

	if (!alloc__place_fails() && !fails)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return alloc__fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return alloc__fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return alloc__fails() ? NULL : __libc_realloc(p, size);
}
#else
#define ALLOC_CAN_FAIL false
#endif

#endif
