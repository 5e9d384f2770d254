/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Applies a rule to recorded events, in order of time, as the engine in the kernel does
 * (bpf/rules.bpf.h, bpf/rates.bpf.h). A property test compares both. Life: new, then try and pass
 * for each event, counts, free. Not locked.
 */
#ifndef FRBPF_TRIAL_RULE_TRIAL_H
#define FRBPF_TRIAL_RULE_TRIAL_H

#include "rules/ruleset.h"

struct trial_event {
	uint64_t time, value;  /* ns */
	uint32_t key, error;   /* of system calls and softirqs; errno */
	enum expr_holds waits; /* is it a system call that waits by its nature? */
	struct expr_subject subject;
	uint64_t process[2], thread[2], own_cgroup; /* identities: what `per` distinguishes */
};

enum trial_outcome {
	TRIAL_NO,    /* the event does not match */
	TRIAL_MAYBE, /* unknown: a field is missing; handled as if there was no event */
	TRIAL_HEARD, /* the event that a rule on absence waits for */
	TRIAL_SUPPRESSED,
	TRIAL_FIRED,
};

struct trial_counts {
	uint64_t matched, fired, maybe; /* maybe is not included in matched */
	uint64_t suppressed[FRBPF_CAUSE_MAX];
	uint64_t max_value; /* ns, of those that matched */
};

struct rule_trial;

/* @rule is borrowed and must outlive the result. 0 or -ENOMEM. */
int rule_trial__new(const struct rule_conf *rule, struct rule_trial **ret);
void rule_trial__free(struct rule_trial *t); /* NULL is legal */

/*
 * Apply the rule to an event of its source. For a pending rule, @e is what has lasted longer than
 * the threshold. Returns enum trial_outcome or -ENOMEM; for TRIAL_SUPPRESSED, *ret_cause is the
 * cause.
 */
int rule_trial__try(struct rule_trial *t, const struct trial_event *e, enum frbpf_cause *ret_cause);

/*
 * The same for a rule about other rules. It matches if the rule of @last, which was just tried with
 * @e, has matched @e. Also, @others must have matched within the time and in the order that `when`
 * gives.
 */
struct trial_parts {
	const struct rule_trial *last, *others[FRBPF_MAX_OTHERS];
	uint32_t n_others;
};
int rule_trial__try_after(struct rule_trial *t, const struct trial_parts *parts,
			  const struct trial_event *e, enum frbpf_cause *ret_cause);

/* The value of the last match, ns: of the event, or for a share of time the sum in its window. */
uint64_t rule_trial__value(const struct rule_trial *t);

/*
 * Let time pass until @now, for a rule on absence. It listens from the first call on. Returns as
 * above; if the rule matches, *ret is the event, without a subject.
 */
int rule_trial__pass(struct rule_trial *t, uint64_t now, struct trial_event *ret,
		     enum frbpf_cause *ret_cause);
/*
 * Call this at a gap in the recording. A rule on absence starts to listen again with the next pass.
 * For a rule about other rules, matches from before the gap do not combine with later ones.
 */
void rule_trial__break(struct rule_trial *t);

/*
 * Suppress matches until @until (ns), as if max-dumps of the rule or of all rules (@cause) were
 * reached.
 */
void rule_trial__suppress(struct rule_trial *t, enum frbpf_cause cause, uint64_t until);

const struct trial_counts *rule_trial__counts(const struct rule_trial *t);

#endif
