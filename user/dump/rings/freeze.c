// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "dump/rings/freeze.h"
#include "dump/rings/ring_image.h"

#define PROBE_BYTES (4UL << 20)
#define HUGE_PAGE   (2UL << 20)
#define PROBE_DEFAULT_NS_PER_MIB                                                                   \
	500000ULL /* for a slow machine; used if there is no memory to measure */

/*
 * Get a buffer of huge pages. With small pages the probe takes 2,048 page faults, up to a tenth of
 * the start time.
 */
static uint8_t *probe_buffer(void)
{
	void *p = aligned_alloc(HUGE_PAGE, PROBE_BYTES);

	if (p)
		madvise(p, PROBE_BYTES, MADV_HUGEPAGE);
	return p;
}

uint64_t freeze__measure_copy(void)
{
	uint8_t *src = probe_buffer(), *dst = probe_buffer();
	uint64_t best = UINT64_MAX, t;

	if (!src || !dst) {
		free(src);
		free(dst);
		return PROBE_DEFAULT_NS_PER_MIB;
	}
	memset(src, 1, PROBE_BYTES);
	memset(dst, 2, PROBE_BYTES);
	for (int i = 0; i < 3; i++) {
		src[i]++;
		t = now_ns();
		memcpy(dst, src, PROBE_BYTES);
		__asm__ volatile("" : : "r"(dst) : "memory");
		t = now_ns() - t;
		best = t < best ? t : best;
	}
	free(src);
	free(dst);
	return best / (PROBE_BYTES >> 20) + 1;
}

bool freeze__is_short(uint64_t bytes, uint64_t ns_per_mib)
{
	return (bytes >> 20) * ns_per_mib < FREEZE_PAUSE_MAX_NS;
}

static void pause_session(struct session *s, struct ring_shot *shots)
{
	for (size_t c = 0; c < s->n_cpus; c++) {
		ring__pause(&s->cpus[c].ring);
		shots[c].paused = now_ns();
	}
}

static size_t copy_ring(struct session_cpu *c, struct ring_shot *shot)
{
	ring_image__copy(c->copy, ring__data(&c->ring), c->ring.size, shot->head);
	shot->after = ring__head(&c->ring);
	return ring_image__filled(shot->head, c->ring.size);
}

static uint64_t copy_and_resume(struct session *s, struct ring_shot *shots)
{
	uint64_t bytes = 0;

	for (size_t c = 0; c < s->n_cpus; c++) {
		if (!shots[c].paused) /* the CPU came online just now */
			continue;
		shots[c].head = ring__head(&s->cpus[c].ring);
		bytes += copy_ring(&s->cpus[c], &shots[c]);
		ring__resume(&s->cpus[c].ring);
		shots[c].resumed = now_ns();
	}
	return bytes;
}

void freeze__pause(struct session *const *sessions, struct ring_shot *const *shots, size_t n,
		   struct freeze_report *ret)
{
	*ret = (struct freeze_report){ .begun = now_ns() };
	for (size_t i = 0; i < n; i++)
		pause_session(sessions[i], shots[i]);
	ret->frozen = now_ns();
}

void freeze__copy_and_resume(struct session *const *sessions, struct ring_shot *const *shots,
			     size_t n, struct freeze_report *ret)
{
	for (size_t i = 0; i < n; i++)
		ret->bytes += copy_and_resume(sessions[i], shots[i]);
	ret->finished = now_ns();
}

void freeze__mark(struct session *const *sessions, struct ring_shot *const *shots, size_t n,
		  struct freeze_report *ret)
{
	*ret = (struct freeze_report){ .begun = now_ns(), .live = true };
	for (size_t i = 0; i < n; i++) {
		for (size_t c = 0; c < sessions[i]->n_cpus; c++) {
			shots[i][c] = (struct ring_shot){
				.head = ring__head(&sessions[i]->cpus[c].ring),
			};
			ret->bytes += ring_image__filled(shots[i][c].head,
							 sessions[i]->cpus[c].ring.size);
		}
	}
	ret->frozen = ret->finished = now_ns();
}

void freeze__copy_live(struct session *s, struct ring_shot *shots)
{
	for (size_t c = 0; c < s->n_cpus; c++)
		copy_ring(&s->cpus[c], &shots[c]);
}
