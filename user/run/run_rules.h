/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules of a run: those of --rules and of --when, the sessions of the file, of --session, or
 * ours where neither has any; and behind them, for every rule with a threshold, one that only
 * counts and has none. Its histogram is that of all values, not only of those above the threshold.
 */
#ifndef FRBPF_RUN_RUN_RULES_H
#define FRBPF_RUN_RUN_RULES_H

#include "daemon/plan.h"
#include "run/run_opts.h"

struct run_rules {
	struct ruleset *rs; /* owned, until taken */
	struct plan *plan;  /* owned */
	size_t n_own;	    /* rules of the user; the others count only */
	size_t *values; /* per rule of the user: index of the one that counts all; SIZE_MAX: none.
			     * Owned */
};

/* Read, check and plan. 0, or negative errno with everything said in @d. @tracefs may be NULL: then
 * our own sessions do without tracepoints, and those of the user are an error. */
int run_rules__make(const struct run_opts *opts, struct tracefs *tracefs, struct diags *d,
		    struct run_rules *ret);
/* Only look whether they are right, on a machine that cannot record. */
int run_rules__check(const struct run_opts *opts, struct diags *d);
void run_rules__free(struct run_rules *r);

#endif
