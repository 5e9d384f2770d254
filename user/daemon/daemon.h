/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The daemon. It starts its parts in an order in which a failure leaves nothing behind. Then its
 * main loop serves control requests, signals and finished incidents. Recording and freezing run in
 * threads of their own.
 */
#ifndef FRBPF_DAEMON_DAEMON_H
#define FRBPF_DAEMON_DAEMON_H

#include "daemon/explainer.h"
#include "daemon/plan.h"
#include "examine/examiner.h"
#include "rules/ruleset.h"

struct daemon_opts {
	const char *base;	/* absolute */
	const char *rules_path; /* a list of rules files, each absolute: rules_files.h */
	const char *program;	/* path of this binary */
	bool perf_habits;	/* started like perf daemon: see rulebook_opts; dumps at the end */
	/* borrowed; NULL: only the kernel's build ids and names are used */
	struct examiner *examiner;
	struct explainer *explainer; /* borrowed; NULL: manifests have no `why` */
};

/*
 * Run until stopped. Takes over @rs and @plan. @ready is called once: with NULL when all sessions
 * record and all rules are attached, else with the reason. Returns 0 after a clean stop; 1 after a
 * failure, which leaves nothing behind.
 */
int daemon__run(const struct daemon_opts *opts, struct ruleset *rs, struct plan *plan,
		struct tracefs *tracefs, void (*ready)(const char *error, void *arg), void *arg);

#endif
