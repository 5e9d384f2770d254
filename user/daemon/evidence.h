/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `run = evidence`: the events that `frbpf why` explains a wait by. It becomes an ordinary line of perf record, of
 * those events that this kernel has.
 */
#ifndef FRBPF_DAEMON_EVIDENCE_H
#define FRBPF_DAEMON_EVIDENCE_H

#include "record/tracefs.h"
#include "rules/ruleset.h"

#define EVIDENCE_NAMES	     8 /* whose stacks are copied, at most */
#define EVIDENCE_STACK_BYTES 1024

/* Names of the threads that the rules of a session are about. */
struct evidence_names {
	char v[EVIDENCE_NAMES][16];
	size_t n;
};

/* What a kernel has. */
struct evidence_kernel {
	bool (*has)(const char *system, const char *name, void *arg); /* such a tracepoint */
	uint64_t (*address)(const char *function, void *arg);	      /* 0: none, or hidden */
	void *arg;
};

/*
 * Append the line for @kernel, with rings of @ring_bytes, to @line; and the tracepoints that it lacks, with commas, to @lacking.
 * What those of @names leave the CPU in is told by a copy of the end of their stack: programs of distributions have no frame
 * pointers. 0 or -ENOMEM.
 */
int evidence__line(const struct evidence_kernel *kernel, const struct evidence_names *names,
		   size_t ring_bytes, struct buf *line, struct buf *lacking);

/* Those that the condition of @rule names as the subject: `comm == "NAME"`, `process == "NAME"`. */
void evidence__add_names(const struct rule_conf *rule, struct evidence_names *to);

/*
 * Make lines of the sessions of @rs that say so. What stands behind the word goes behind the line. Those that are
 * expanded already stay as they are. @tracefs NULL: no event is looked up. 0 or -ENOMEM.
 */
int evidence__expand(struct ruleset *rs, struct tracefs *tracefs);

#endif
