/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ruleset checked against this kernel: run lines parsed, events resolved, memory summed. Nothing
 * is opened but tracefs; what is wrong points into the rules file.
 */
#ifndef FRBPF_DAEMON_PLAN_H
#define FRBPF_DAEMON_PLAN_H

#include "record/event_list.h"
#include "rules/ruleset.h"

struct session_plan {
	struct event_list *events; /* owned until the session takes it */
	size_t ring_bytes;	   /* per CPU */
};

struct plan {
	struct session_plan *sessions; /* one per session of the ruleset; owned */
	size_t n_sessions;
	size_t n_cpus;		     /* online */
	uint64_t memory, max_memory; /* bytes: rings and copies; what the ruleset allows */
};

/* 0, -EINVAL (see @d) or another negative errno with words in @d. @tracefs may be NULL: no
 * tracepoint resolves then. */
int plan__make(const struct ruleset *rs, struct tracefs *tracefs, struct diags *d,
	       struct plan **ret);
void plan__free(struct plan *p);

#endif
