/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cooldowns and counts per process, thread, cgroup ...: for each rule that has such, a map of its
 * own in the maps of maps that the programs read. Entries whose time is over are deleted here.
 * Life: new, give and take back as rules come and go, step, free.
 */
#ifndef FRBPF_DETECT_RATE_KEYS_H
#define FRBPF_DETECT_RATE_KEYS_H

#include "detect/past.h"
#include "rules/ruleset.h"

struct rate_keys;

/* The maps are made, and stay the caller's to close: of cooldowns, counts and shares by slot, and the ring
 * that the programs wake us by. 0 or negative errno. */
int rate_keys__new(int *ret_cooling_fd, int *ret_counting_fd, int *ret_sharing_fd,
		   int *ret_keyed_fd, struct rate_keys **ret);

/* So many entries has each map of a rule, if @n_rules rules have such. */
uint32_t rate_keys__room(uint32_t max, size_t n_rules);
/* Has the rule cooldowns or counts of this kind? */
bool rate_keys__wanted(const struct rule_conf *r);
/* How many new keys are a reason to tidy; 0 of rules without keys. */
uint32_t rate_keys__wake(const struct rule_conf *r, size_t n_rules);

/* Room for the keys of @r in @slot, which no program reads yet, with what @past (NULL: nothing) knows
 * of them. 0 or negative errno. */
int rate_keys__give(struct rate_keys *k, uint32_t slot, const struct rule_conf *r, size_t n_rules,
		    const struct past *past);
/* The slot has no rule any more. */
void rate_keys__take_back(struct rate_keys *k, uint32_t slot);

/* Readable when there may be something to tidy; see rate_keys__step(). */
int rate_keys__fd(const struct rate_keys *k);
/* Delete what is over, if the programs asked for it or it is due. Returns ns until it wants to be
 * called again even if the fd stays silent; UINT64_MAX: while the maps are not half full. */
uint64_t rate_keys__step(struct rate_keys *k, uint64_t now);
/* The same at once, but not more than once a second. */
void rate_keys__tidy(struct rate_keys *k, uint64_t now);

void rate_keys__each_cooling(const struct rate_keys *k,
			     void (*fn)(const struct past_cooling *c, void *arg), void *arg);

void rate_keys__free(struct rate_keys *k);

#endif
