/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules tried on recordings: what would have fired, when and how often, and what recordings cannot tell. Life: open,
 * run, look, free.
 */
#ifndef FRBPF_CMD_TRIAL_H
#define FRBPF_CMD_TRIAL_H

#include "analyse/retrace/retrace.h"
#include "analyse/recordings.h"
#include "daemon/dump_limiter.h"
#include "rules/rule_trial.h"
#include "rules/span_target.h"

/* A time at which a rule would have fired. */
struct trial_fire {
	uint64_t time, value; /* ns */
	uint32_t key, pid, tid, cpu;
	uint32_t known; /* bit per enum frbpf_field of the subject */
	bool merged;	/* so soon after another that there is one incident */
	char comm[FRBPF_COMM_LEN + 1];
};

struct trial_rule {
	struct trial *trial;
	struct rule_conf *conf; /* of the ruleset */
	struct rule_trial *engine;
	struct dump_limiter dumps;
	size_t want;	  /* of retrace */
	bool is_measured; /* else `cannot` says why not */
	char cannot[192];
	char notes[384];		 /* what is not as in the kernel; lines */
	uint32_t never_known;		 /* bit per field that no recording tells for it */
	uint32_t doubtful;		 /* bit per field, likewise, that decided over a match */
	char fields[FRBPF_MAX_ARGS][64]; /* of the formats, for its arguments */
	struct trial_fire *fires;	 /* owned */
	size_t n_fires, fires_cap, merged;
};

struct trial {
	struct ruleset *rs; /* borrowed */
	struct retrace *retrace;
	struct trial_rule *rules;  /* one for each of the ruleset; owned */
	struct span_target *spans; /* likewise, of those that have one; owned */
	struct dump_limiter dumps; /* of all rules together */
	uint64_t last_freeze;	   /* ns; 0: none yet */
	struct retrace_sum sum;	   /* once it has run */
};

/* Errors of files in words. 0 or negative errno. */
int trial__open(struct trial *t, struct ruleset *rs, const struct recordings *dumps,
		struct err *err);
int trial__run(struct trial *t, struct err *err);
void trial__free(struct trial *t); /* half-opened ones, too */

/* Names of the fields in @bits, "uid, cgroup". Returns @buf. */
const char *trial_rule__fields(const struct trial_rule *r, uint32_t bits, char *buf, size_t size);

#endif
