/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `run = evidence` and `run = evidence full` record the events from which `frbpf why` explains a
 * wait. They are expanded to a perf record line with those events that this kernel has.
 */
#ifndef FRBPF_DAEMON_EVIDENCE_H
#define FRBPF_DAEMON_EVIDENCE_H

#include "common/tracefs.h"
#include "rules/ruleset.h"

#define EVIDENCE_NAMES	     8 /* threads whose stacks are copied, at most */
#define EVIDENCE_STACK_BYTES 1024

/* The thread names that the rules of a session ask for in their conditions. */
struct evidence_names {
	char v[EVIDENCE_NAMES][16];
	size_t n;
};

/* Looks up what a kernel has. */
struct evidence_kernel {
	bool (*has)(const char *system, const char *name, void *arg); /* this tracepoint */
	uint64_t (*address)(const char *function, void *arg);	      /* 0: unknown or hidden */
	void *arg;
	bool feeds; /* BPF programs can write events of their own */
};

/*
 * Append the line of @level for @kernel, with rings of @ring_bytes, to @line. Append the
 * tracepoints that the kernel lacks or hides, separated by commas, to @lacking. When threads in
 * @names leave the CPU, the top of their user stack is copied: most distributions build programs
 * without frame pointers. 0 or -ENOMEM.
 */
int evidence__line(enum evidence_level level, const struct evidence_kernel *kernel,
		   const struct evidence_names *names, size_t ring_bytes, struct buf *line,
		   struct buf *lacking);

/*
 * Add the names that the condition of @rule gives the subject: `comm == "NAME"`, `process ==
 * "NAME"`.
 */
void evidence__add_names(const struct rule_conf *rule, struct evidence_names *to);

/*
 * Expand the sessions of @rs that have `run = evidence`. Options after that follow the
 * generated line. Sessions that are already expanded stay as they are. @tracefs NULL: events are
 * not looked up. 0 or -ENOMEM.
 */
int evidence__expand(struct ruleset *rs, struct tracefs *tracefs);

#endif
