/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Thresholds that follow the workload: `> p99 * 4`. The programs count every value of such a rule in
 * buckets, on each CPU. Ten times in the rule's `learn` the thread of listeners takes what is new,
 * and writes into the state of the rule what values are compared with from then on. Values older
 * than that time are forgotten; the limit stays until there are enough new ones for another.
 * Life: new, give and take back as rules come and go, free. All may be called by any thread.
 */
#ifndef FRBPF_DETECT_LEARNERS_H
#define FRBPF_DETECT_LEARNERS_H

#include "detect/past.h"
#include "rules/ruleset.h"

struct learners;
struct listener;

/* The map that the programs count in stays the caller's to close. @states, mapped, and @listener are borrowed. 0 or
 * negative errno. */
int learners__new(struct listener *listener, struct frbpf_rule_state *states, int *ret_fd,
		  struct learners **ret);

/* Of a rule that learns: begin in @slot, whose state is written and which no program reads yet, with what another slot
 * or @past (NULL: nothing) knows of the same values. Of other rules: nothing. 0 or negative errno. */
int learners__give(struct learners *l, uint32_t slot, const struct rule_conf *r,
		   const struct past *past);
/* The slot has no rule any more. */
void learners__take_back(struct learners *l, uint32_t slot);

/* What the thread does when the time comes; @now: ns. */
void learners__advance(struct learners *l, uint64_t now);

struct learnt {
	uint64_t values;     /* of the last `learn`, until now */
	uint64_t percentile; /* ns; 0: not learnt yet */
	uint64_t limit;	     /* ns that the rule fires above; 0: it does not fire yet */
	uint64_t time;	     /* of that; 0: never, or before this process began */
};
/* False: the rule of @slot does not learn. */
bool learners__get(struct learners *l, uint32_t slot, struct learnt *ret);

/* Call @fn with what is to be kept for the next process. @p is valid during the call only. 0 or -ENOMEM. */
int learners__each(struct learners *l, void (*fn)(const struct past_learnt *p, void *arg),
		   void *arg);
/* How often a limit was written. */
uint64_t learners__changes(struct learners *l);

void learners__free(struct learners *l);

#endif
