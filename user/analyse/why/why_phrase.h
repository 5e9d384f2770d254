/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of frbpf why for what one node of its tree says. */
#ifndef FRBPF_ANALYSE_WHY_WHY_PHRASE_H
#define FRBPF_ANALYSE_WHY_WHY_PHRASE_H

#include "analyse/why/why_verdict.h"

/* "postgres/1234", printable. Returns @buf. */
const char *why_phrase__name(const struct why *w, uint32_t tid, char buf[static VERDICT_NAME]);
/* Append "main (clone)": where it ran, demangled and printable. 0 or -ENOMEM. */
int why_phrase__add_function(struct buf *b, const struct why_function *f);
/* For a WHY_QUEUED: append which CPU it left because that went offline, if any. 0 or -ENOMEM. */
int why_phrase__add_left(struct buf *b, const struct why_node *n);
/*
 * For a WHY_SPUN: may its inferred owner be wrong? A task spins for a mutex or semaphore only while
 * the task that owns it runs. A spinlock may be owned by an interrupt on an idle CPU.
 */
bool why_phrase__owner_is_doubtful(const struct why_key *k);
/*
 * Append what happened in @n, without what its waker did: "waited for a futex in f, until woken by
 * x/12". 0 or -ENOMEM.
 */
int why_phrase__add(struct buf *b, const struct why *w, const struct why_node *n,
		    why_duration_fn duration);

/*
 * Append the device, IRQ or softirq that took the time of @n: "loop0 (7:0)", "softirq net_rx". 0,
 * also if it was none of them; or -ENOMEM.
 */
int why_phrase__add_resource(struct buf *b, const struct why *w, const struct why_node *n);

#endif
