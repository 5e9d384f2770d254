/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cooldowns, counts and shares per process, thread, cgroup ...: each rule that has them gets its
 * own map, an entry of a map of maps that the programs read. Expired entries are deleted here.
 * Life: new, give and take back as rules come and go, step, free.
 */
#ifndef FRBPF_DETECT_RATE_KEYS_H
#define FRBPF_DETECT_RATE_KEYS_H

#include "detect/past.h"
#include "rules/ruleset.h"

struct rate_keys;

/*
 * Create the maps of cooldowns, counts and shares by slot, and the ring by which the programs wake
 * us. The caller closes their descriptors. 0 or negative errno.
 */
int rate_keys__new(int *ret_cooling_fd, int *ret_counting_fd, int *ret_sharing_fd,
		   int *ret_keyed_fd, struct rate_keys **ret);

/* The number of entries of a rule's map: @max, or less if many rules (@n_rules) have such maps. */
uint32_t rate_keys__room(uint32_t max, size_t n_rules);
/* Does the rule have cooldowns, counts or shares per process, thread, ...? */
bool rate_keys__wanted(const struct rule_conf *r);
/* The number of new keys after which a program wakes us; 0: the rule has no keys. */
uint32_t rate_keys__wake(const struct rule_conf *r, size_t n_rules);

/*
 * Create the maps of rule @r in @slot, which no program reads yet. Fills in what @past (may be
 * NULL) knows about its keys. 0 or negative errno.
 */
int rate_keys__give(struct rate_keys *k, uint32_t slot, const struct rule_conf *r, size_t n_rules,
		    const struct past *past);
/* The slot has no rule any more. */
void rate_keys__take_back(struct rate_keys *k, uint32_t slot);

/* A descriptor that is readable when entries may have to be deleted: see rate_keys__step(). */
int rate_keys__fd(const struct rate_keys *k);
/*
 * Delete expired entries, if the programs asked for it or it is due. Returns the time, ns, after
 * which to call it again even if the descriptor stays silent. UINT64_MAX: no map is more than half
 * full.
 */
uint64_t rate_keys__step(struct rate_keys *k, uint64_t now);
/* Delete expired entries now, but at most once a second. */
void rate_keys__tidy(struct rate_keys *k, uint64_t now);

/* Call @fn with every cooldown that has not expired. @c is valid during the call only. */
void rate_keys__each_cooling(const struct rate_keys *k,
			     void (*fn)(const struct past_cooling *c, void *arg), void *arg);

void rate_keys__free(struct rate_keys *k);

#endif
