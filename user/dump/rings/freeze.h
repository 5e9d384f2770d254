/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes the content of many rings at one moment, in one of two ways:
 *
 *	pause  flag every ring as paused, copy each and resume it at once. One instant for all
 *	       CPUs. What happens on a CPU while its ring is paused is lost; the kernel counts it.
 *	live   only read the heads; copy later, in any thread, while writers continue. Nothing is
 *	       lost, except the oldest part if writers reach it during the copy.
 */
#ifndef FRBPF_DUMP_RINGS_FREEZE_H
#define FRBPF_DUMP_RINGS_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/session.h"
#include "rules/ruleset.h"

/* Positions and times (ns) of one ring. `paused` 0: it was not paused. */
struct ring_shot {
	uint64_t head;	/* when frozen */
	uint64_t after; /* after the copy; writers claimed [after, head) meanwhile */
	uint64_t paused, resumed;
};

struct freeze_report {
	uint64_t begun;	   /* before the first ring was paused, or its head read */
	uint64_t frozen;   /* after the last one was paused or read */
	uint64_t finished; /* after the last was copied and resumed; live: equal to frozen */
	uint64_t bytes;	   /* copied */
	bool live;
};

/* Limit for the estimated time of a copy while rings are paused, or in a real-time thread. */
#define FREEZE_PAUSE_MAX_NS 5000000ULL

/* Measure the cost of copying into touched memory on this machine, ns per MiB. */
uint64_t freeze__measure_copy(void);

/*
 * Is the estimate for copying @bytes below FREEZE_PAUSE_MAX_NS? Then it may be done while rings are
 * paused, and in real time.
 */
bool freeze__is_short(uint64_t bytes, uint64_t ns_per_mib);

/* Pause all rings of @sessions. shots[i] has one entry per CPU of session i. Begins @ret. */
void freeze__pause(struct session *const *sessions, struct ring_shot *const *shots, size_t n,
		   struct freeze_report *ret);
/* Copy the paused rings, and resume each as soon as it is copied. Completes @ret. */
void freeze__copy_and_resume(struct session *const *sessions, struct ring_shot *const *shots,
			     size_t n, struct freeze_report *ret);

/* Read the heads of all rings. Call freeze__copy_live() for every session after that. */
void freeze__mark(struct session *const *sessions, struct ring_shot *const *shots, size_t n,
		  struct freeze_report *ret);
void freeze__copy_live(struct session *s, struct ring_shot *shots);

#endif
