/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules of a run: those of --rules and --when. Sessions are those of the file and of --session,
 * or default ones if there are none. For every rule with a threshold, a rule without one is added
 * that only counts. Its histogram covers all values, not only those above the threshold.
 */
#ifndef FRBPF_RUN_RUN_RULES_H
#define FRBPF_RUN_RUN_RULES_H

#include "daemon/plan.h"
#include "run/run.h"

struct run_rules {
	struct ruleset *rs; /* owned, until it is taken over */
	struct plan *plan;  /* owned */
	size_t n_own;	    /* number of rules of the user; the rest only count */
	/* per rule of the user: index of the rule that counts all values; SIZE_MAX: none. Owned */
	size_t *values;
};

/*
 * Read, check and plan. 0, or negative errno with messages in @d. If @tracefs is NULL, the default
 * sessions do without tracepoints, and tracepoints in the user's sessions are errors.
 */
int run_rules__make(const struct run_opts *opts, struct tracefs *tracefs, struct diags *d,
		    struct run_rules *ret);
/* Only check the rules, on a machine that cannot record. */
int run_rules__check(const struct run_opts *opts, struct diags *d);
void run_rules__free(struct run_rules *r);

#endif
