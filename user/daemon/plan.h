/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ruleset checked against this kernel: run lines parsed, events resolved, memory summed. It opens
 * nothing but tracefs. Errors point into the rules file.
 */
#ifndef FRBPF_DAEMON_PLAN_H
#define FRBPF_DAEMON_PLAN_H

#include "record/event_list.h"
#include "rules/ruleset.h"

struct session_plan {
	struct event_list *events;   /* owned until the session takes it */
	struct record_target target; /* the tasks and CPUs that the run line names; owned */
	struct diags missing;	     /* tasks and cgroups of the target that do not exist; owned */
	size_t ring_bytes;	     /* per CPU */
	char **command;		     /* see record_opts.command; owned */
	struct record_output output;
	bool plain;	  /* its file is written all the time, see record/session.h */
	bool system_wide; /* -a: all tasks, even with a command */
	/* ns that a ring holds on a busy CPU, at least and at most; 0: unknown beforehand */
	uint64_t window_least, window_most;
};

struct plan {
	struct session_plan *sessions; /* one per session of the ruleset; owned */
	size_t n_sessions;
	size_t n_cpus; /* online */
	/*
	 * bytes. memory: rings and copies, with the side band's rings; max_memory: the limit that
	 * the ruleset sets
	 */
	uint64_t memory, max_memory;
	uint64_t sideband_memory; /* bytes: the part of `memory` for the side band's rings */
};

/* Limit for rings and copies, in bytes. */
uint64_t plan__max_memory(const struct ruleset *rs);

/*
 * Make a plan of @rs, owned by the caller. @tracefs NULL: a tracepoint is an error. If @rs is
 * damaged, the plan only adds errors to @d. 0, -EINVAL (see @d) or another negative errno with a
 * message in @d.
 */
int plan__make(const struct ruleset *rs, struct tracefs *tracefs, struct diags *d,
	       struct plan **ret);
/*
 * The same without tracefs, for a check and not to record. Tracepoints are left out, see
 * event_list.left_out.
 */
int plan__make_partly(const struct ruleset *rs, struct diags *d, struct plan **ret);

/*
 * Do what perf daemon does with a file written for it: if @rs has no rules, sessions without
 * --overwrite are plain, and write their file all the time. With rules, no session is plain.
 */
void plan__follow_perf(struct ruleset *rs);

/*
 * Load the files of @list (see rules_files.h) and make a plan. @like_perf: see plan__follow_perf().
 * @d gets errors of both and the warnings of lint__ruleset(). The caller owns the outputs, which
 * are set only on 0. Errors are those of ruleset__load() and plan__make().
 */
int plan__load(const char *list, bool like_perf, struct tracefs *tracefs, struct diags *d,
	       struct ruleset **ret_rs, struct plan **ret);
/*
 * Check, before sessions start, that the tasks and cgroups that they name exist. A session that
 * runs already, as one of @running (NULL: none runs), is not checked. 0 or -EINVAL (see @d).
 */
int plan__check_targets(const struct plan *p, const struct ruleset *rs,
			const struct ruleset *running, struct diags *d);
/*
 * Load, plan and check for a start, with all errors in @d; the second function: see
 * plan__make_partly().
 */
int plan__check(const char *list, struct tracefs *tracefs, struct diags *d, struct ruleset **ret_rs,
		struct plan **ret);
int plan__check_partly(const char *list, struct diags *d, struct ruleset **ret_rs,
		       struct plan **ret);
void plan__free(struct plan *p);

#endif
