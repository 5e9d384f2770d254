/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Thresholds that follow the workload: `> p99 * 4`. The programs count every value of such a rule
 * in buckets on each CPU. Ten times per `learn` period, the thread of the listener collects new
 * counts, calculates a limit and writes it into the state of the rule. Values older than the period
 * are forgotten. The limit stays until there are enough new values for another.
 * Life: new, give and take back as rules come and go, free. All functions are for any thread.
 */
#ifndef FRBPF_DETECT_LEARNERS_H
#define FRBPF_DETECT_LEARNERS_H

#include "detect/past.h"
#include "rules/ruleset.h"

struct learners;
struct listener;

/*
 * The caller owns *ret_fd, the map that the programs count in. @states (shared memory) and
 * @listener are borrowed. 0 or negative errno.
 */
int learners__new(struct listener *listener, struct frbpf_rule_state *states, int *ret_fd,
		  struct learners **ret);

/*
 * Start learning for rule @r in @slot; does nothing for rules that do not learn. The state of the
 * slot is written already, and no program reads it yet. Starts with what another slot or @past
 * (may be NULL) knows about the same values. 0 or negative errno.
 */
int learners__give(struct learners *l, uint32_t slot, const struct rule_conf *r,
		   const struct past *past);
/* The slot has no rule any more. */
void learners__take_back(struct learners *l, uint32_t slot);

/*
 * Collect counts and write limits that are due at @now, ns; called by a timer in the thread of the
 * listener.
 */
void learners__advance(struct learners *l, uint64_t now);

struct learnt {
	uint64_t values;     /* number of values in the current `learn` period */
	uint64_t percentile; /* ns; 0: not learnt yet */
	uint64_t limit;	     /* ns: the rule fires above it; 0: it does not fire yet */
	uint64_t time;	     /* when the limit was set; 0: never, or before this process */
};
/* False: the rule of @slot does not learn. */
bool learners__get(struct learners *l, uint32_t slot, struct learnt *ret);

/*
 * Call @fn with what the rules have learnt, to save it for the next process. @p is valid during the
 * call only. 0 or -ENOMEM.
 */
int learners__each(struct learners *l, void (*fn)(const struct past_learnt *p, void *arg),
		   void *arg);
/* The number of times that a limit was written. */
uint64_t learners__changes(struct learners *l);

void learners__free(struct learners *l);

#endif
