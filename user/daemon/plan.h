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
	struct event_list *events;   /* owned until the session takes it */
	struct record_target target; /* what the line says of it; owned */
	size_t ring_bytes;	     /* per CPU */
	char **command;		     /* see record_opts.command; owned */
	struct record_output output;
	bool system_wide; /* -a: of all tasks, also when there is a command */
	/* ns that a ring holds on a busy CPU, between these; 0: nobody can know beforehand */
	uint64_t window_least, window_most;
};

struct plan {
	struct session_plan *sessions; /* one per session of the ruleset; owned */
	size_t n_sessions;
	size_t n_cpus; /* online */
	uint64_t memory,
		max_memory;	  /* bytes: rings and copies, those of the side band, too; what the
					ruleset allows */
	uint64_t sideband_memory; /* bytes: of these, the side band's rings */
};

/* Bytes that rings and copies may take. */
uint64_t plan__max_memory(const struct ruleset *rs);

/* 0, -EINVAL (see @d) or another negative errno with words in @d. @tracefs may be NULL: a
 * tracepoint is an error then. @rs may be damaged: then it is planned for the errors in @d only. */
int plan__make(const struct ruleset *rs, struct tracefs *tracefs, struct diags *d,
	       struct plan **ret);
/* The same without tracefs, to check and not to record: tracepoints are left out, see
 * event_list.left_out. */
int plan__make_partly(const struct ruleset *rs, struct diags *d, struct plan **ret);

/* The ruleset of the files of @list (see rules_files.h) and its plan, with the errors of both and what lint__ruleset() has to say in
 * @d. Errors as those of ruleset__load() and plan__make(); outputs are set only on 0. */
int plan__load(const char *list, struct tracefs *tracefs, struct diags *d, struct ruleset **ret_rs,
	       struct plan **ret);
int plan__load_partly(const char *list, struct diags *d, struct ruleset **ret_rs,
		      struct plan **ret);
void plan__free(struct plan *p);

#endif
