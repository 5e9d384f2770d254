/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values of an event that a rule names and frbpf knows nothing of beforehand: a tracepoint's
 * arguments, the keys of an application's message. They are taken as written when the rule is
 * parsed; whoever knows the event (the kernel, for a tracepoint) says later what they are, and
 * expr__bind() then reads what they are compared with.
 */
#ifndef FRBPF_RULES_RULE_ARGS_H
#define FRBPF_RULES_RULE_ARGS_H

#include "frbpf.h"
#include "rules/diag.h"
#include "rules/constants.h"

struct rule_arg {
	char *name;	/* as written: "rq.__sector"; owned */
	struct span at; /* where the rule names it first */
	uint32_t
		slot; /* the event's value FRBPF_FIELD_ARG + slot; the same for all rules of a source's
			    target */
	bool bound;			/* its comparisons are read */
	uint32_t type;			/* enum expr_type, once it is bound */
	const struct constant *symbols; /* names for its numbers that outlive it, or NULL */
};

struct rule_args {
	struct rule_arg v[FRBPF_MAX_ARGS];
	uint32_t n;
};

/* Index of the argument called so, which is added if it is new. -ENOSPC: FRBPF_MAX_ARGS are there;
 * -ENOMEM. */
int rule_args__add(struct rule_args *args, const char *name, size_t len, struct span at);

/* Index of the argument in @slot, or -ENOENT. */
int rule_args__by_slot(const struct rule_args *args, uint32_t slot);

/* Frees what it owns, not @args. */
void rule_args__free(struct rule_args *args);

#endif
