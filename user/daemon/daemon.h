/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The daemon: brings everything up in the order in which a failure leaves nothing behind, then
 * serves its main loop: control requests, signals, finished incidents. Recording and freezing go on
 * in their own threads.
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
	bool perf_habits;	/* started as perf daemon is: see rulebook_opts; dump at the end */
	struct examiner
		*examiner; /* borrowed; NULL: build ids and names are those that the kernel tells */
	struct explainer *explainer; /* borrowed; NULL: manifests have no `why` */
};

/*
 * Run until stopped. @rs and @plan are taken over. @ready is called once, with NULL when all
 * sessions record and all rules are attached, or with the reason why not; then nothing is left
 * behind and the function returns 1. Otherwise it returns 0 after a clean stop.
 */
int daemon__run(const struct daemon_opts *opts, struct ruleset *rs, struct plan *plan,
		struct tracefs *tracefs, void (*ready)(const char *error, void *arg), void *arg);

#endif
