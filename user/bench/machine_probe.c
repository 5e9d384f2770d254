// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/machine_probe.h"
#include "common/clock.h"

#define PROBE_ROUNDS 3
#define PROBE_CHAIN  (1 << 20) /* elements of 4 bytes */
#define PROBE_STEPS  10000
#define PROBE_PAGES  512
#define PROBE_LENGTH 400000

struct prober {
	uint32_t *chain; /* every element is the index of the next; owned */
};

/*
 * Make a chain in which neighbours are far apart. Every element is visited before the first one
 * again, since the generator has a full period.
 */
static uint32_t *make_chain(void)
{
	uint32_t *chain = calloc(PROBE_CHAIN, sizeof(*chain));

	for (uint32_t i = 0; chain && i < PROBE_CHAIN; i++)
		chain[i] = (i * 1664525u + 1013904223u) % PROBE_CHAIN;
	return chain;
}

struct prober *prober__open(void)
{
	struct prober *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->chain = make_chain();
	if (!p->chain) {
		prober__free(p);
		return NULL;
	}
	return p;
}

void prober__free(struct prober *p)
{
	if (p)
		free(p->chain);
	free(p);
}

static void probe_calculation(void)
{
	uint64_t x = 88172645463325252ULL;

	for (int i = 0; i < PROBE_LENGTH; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

static void probe_chain(const uint32_t *chain, uint32_t at)
{
	for (int i = 0; i < PROBE_STEPS; i++)
		at = chain[at];
	__asm__ volatile("" : "+r"(at));
}

static void probe_pages(void)
{
	size_t page = sysconf(_SC_PAGESIZE), len = PROBE_PAGES * page;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	/* single pages, whatever the current fragmentation of memory is */
	madvise(p, len, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < len; i += page)
		*(volatile char *)(p + i) = 1;
	munmap(p, len);
}

void prober__run(const struct prober *p, struct machine_probe *ret)
{
	for (uint32_t i = 0; i < PROBE_ROUNDS; i++) {
		uint64_t t[4];

		t[0] = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		probe_calculation();
		t[1] = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		probe_chain(p->chain, i * (PROBE_CHAIN / PROBE_ROUNDS));
		t[2] = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		probe_pages();
		t[3] = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		ret->calculation += t[1] - t[0];
		ret->memory += t[2] - t[1];
		ret->pages += t[3] - t[2];
	}
}
