/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two tracepoints of a span on this kernel, its keys, and the values that rules name: "NAME" at
 * the end, "start.NAME" at the start.
 */
#ifndef FRBPF_DETECT_SPAN_ENDS_H
#define FRBPF_DETECT_SPAN_ENDS_H

#include "detect/tracepoint/btf_path.h"
#include "rules/ruleset.h"
#include "rules/target.h"

struct span_ends {
	struct span_target target;
	struct btf_trace *start, *end; /* owned */
};

/*
 * Find the tracepoints of @target. 0; -ENOENT: one does not exist, and is NULL in @ret, which has
 * its "system:name" in `target`; -EOPNOTSUPP, -EINVAL or -ENOMEM. Free @ret in each case.
 */
int span_ends__open(const char *target, struct span_ends *ret);
void span_ends__free(struct span_ends *e);

/*
 * Get how to extract key @i at the start or, with @at_end, at the end. On -EINVAL or -ENOENT, @err
 * says what is wrong with it.
 */
int span_ends__key(const struct span_ends *e, uint32_t i, bool at_end, struct frbpf_extract *ret,
		   struct err *err);

/* Like btf_trace__value(), for a name in a rule. *ret_start: it is a value of the start. */
int span_ends__value(const struct span_ends *e, const char *name, bool *ret_start,
		     struct btf_value *ret, struct span *ret_bad, struct err *err);

/* Bind @rule, if it is on a span and not bound yet. Errors go to @d. 0, -EINVAL or -ENOMEM. */
int span_ends__bind(struct rule_conf *rule, struct diags *d);

#endif
