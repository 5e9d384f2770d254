/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tries rules on recordings: when and how often they would have fired, and what the recordings
 * cannot tell. Life: open, run, look, free.
 */
#ifndef FRBPF_TRIAL_TRIAL_H
#define FRBPF_TRIAL_TRIAL_H

#include "analyse/retrace/retrace.h"
#include "analyse/recordings.h"
#include "rules/rate.h"
#include "trial/rule_trial.h"
#include "rules/target.h"

/* A time at which a rule would have fired */
struct trial_fire {
	uint64_t time, value; /* ns */
	uint32_t key, pid, tid, cpu;
	uint32_t known; /* bit per enum frbpf_field of the subject */
	bool merged;	/* so soon after another trigger that both are one incident */
	char comm[FRBPF_COMM_LEN + 1];
};

struct trial_rule {
	struct trial *trial;
	struct rule_conf *conf; /* belongs to the ruleset */
	struct rule_trial *engine;
	struct dump_limiter dumps;
	struct retrace_want want;      /* unused for a rule on other rules */
	struct span_target span;       /* of .want */
	const struct trial_unit *unit; /* unused for a rule on other rules */
	bool is_measured;	       /* false: `cannot` says why */
	char cannot[192];
	char notes[384];      /* differences from the kernel; lines */
	uint32_t never_known; /* bits of fields that no recording contains */
	uint32_t doubtful;    /* bits of such fields that decided whether an event matched */
	char fields[FRBPF_MAX_ARGS][64]; /* for each argument, its field in the format */
	struct trial_fire *fires;	 /* owned */
	size_t n_fires, fires_cap, merged;
};

/* What is applied to an event: a rule, or the last part of a rule on other rules. */
struct trial_unit {
	struct trial_rule *rule;
	struct trial_parts parts; /* of a rule on other rules */
	size_t want;		  /* index for retrace__result() */
};

struct trial {
	struct ruleset *rs; /* borrowed */
	struct retrace *retrace;
	struct trial_rule *rules;  /* one per rule of the ruleset; owned */
	struct trial_unit *units;  /* owned */
	struct dump_limiter dumps; /* for all rules together */
	uint64_t last_freeze;	   /* ns; 0: none yet */
	struct retrace_sum sum;	   /* valid after the run */
};

/* Open the recordings @dumps. 0 or negative errno, message in @err. */
int trial__open(struct trial *t, struct ruleset *rs, const struct recordings *dumps,
		struct err *err);
int trial__run(struct trial *t, struct err *err);
void trial__free(struct trial *t); /* also after a failed open */

/* What was measured for the rule; of a rule about others only the time. Valid after the run. */
struct retrace_result trial_rule__result(const struct trial_rule *r);

/* Format the names of the fields in @bits: "uid, cgroup". Returns @buf. */
const char *trial_rule__fields(const struct trial_rule *r, uint32_t bits, char *buf, size_t size);

#endif
