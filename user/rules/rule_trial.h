/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A rule on events that are given to it one after the other, in the order of time: what the engine in the kernel does
 * with them (bpf/rules.bpf.h, bpf/rates.bpf.h), for who has recordings instead of a kernel. A property test holds both
 * to the same answers. Life: new, then try and pass for each event, counts, free. Not locked.
 */
#ifndef FRBPF_RULES_RULE_TRIAL_H
#define FRBPF_RULES_RULE_TRIAL_H

#include "rules/ruleset.h"

struct trial_event {
	uint64_t time, value;  /* ns */
	uint32_t key, error;   /* of system calls and softirqs; errno */
	enum expr_holds waits; /* is it a call that waits by its nature? */
	struct expr_subject subject;
	uint64_t process[2], thread[2], own_cgroup; /* whom `per` counts apart; equal: the same */
};

enum trial_outcome {
	TRIAL_NO,    /* not what the rule is about */
	TRIAL_MAYBE, /* that depends on what is not known of it: as if it had not been */
	TRIAL_HEARD, /* a rule on what is absent has heard it */
	TRIAL_SUPPRESSED,
	TRIAL_FIRED,
};

struct trial_counts {
	uint64_t matched, fired, maybe; /* maybe: not among those that matched */
	uint64_t suppressed[FRBPF_CAUSE_MAX];
	uint64_t max_value; /* ns, of those that matched */
};

struct rule_trial;

/* @rule is borrowed. 0 or -ENOMEM. */
int rule_trial__new(const struct rule_conf *rule, struct rule_trial **ret);
void rule_trial__free(struct rule_trial *t); /* NULL is legal */

/* An event of the rule's source; of a rule on what is pending, what has lasted for longer than its threshold.
 * -ENOMEM, or enum trial_outcome; of TRIAL_SUPPRESSED the cause goes to @ret_cause. */
int rule_trial__try(struct rule_trial *t, const struct trial_event *e, enum frbpf_cause *ret_cause);

/* For a rule on what is absent: nothing but time passes, until @now. From the first call on it listens. As above; an
 * event without subject is made into *ret. */
int rule_trial__pass(struct rule_trial *t, uint64_t now, struct trial_event *ret,
		     enum frbpf_cause *ret_cause);
/* It cannot know what comes meanwhile: it begins to listen anew with the next pass. */
void rule_trial__break(struct rule_trial *t);

/* Until then (ns) matches are suppressed as above the rule's max-dumps, or those of all rules. */
void rule_trial__hold(struct rule_trial *t, enum frbpf_cause cause, uint64_t until);

const struct trial_counts *rule_trial__counts(const struct rule_trial *t);

#endif
