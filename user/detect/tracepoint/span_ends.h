/* SPDX-License-Identifier: GPL-2.0-only */
/* The two tracepoints of a span on this kernel, its keys, and the values that rules name: "NAME" of the
 * end, "start.NAME" of the start. */
#ifndef FRBPF_DETECT_SPAN_ENDS_H
#define FRBPF_DETECT_SPAN_ENDS_H

#include "detect/tracepoint/btf_path.h"
#include "rules/ruleset.h"
#include "rules/span_target.h"

struct span_ends {
	struct span_target target;
	struct btf_trace *start, *end; /* owned */
};

/* 0; -ENOENT with the tracepoint's "system:name" in @ret->target that is missing: that one is NULL;
 * -EOPNOTSUPP, -EINVAL, -ENOMEM. To be freed in each case. */
int span_ends__open(const char *target, struct span_ends *ret);
void span_ends__free(struct span_ends *e);

/* Of key @i, at its start or its end. On -EINVAL or -ENOENT @err has what is wrong with it. */
int span_ends__key(const struct span_ends *e, uint32_t i, bool at_end, struct frbpf_extract *ret,
		   struct err *err);

/* What a rule names; *ret_start: it is of the start. As btf_trace__value(). */
int span_ends__value(const struct span_ends *e, const char *name, bool *ret_start,
		     struct btf_value *ret, struct span *ret_bad, struct err *err);

/* Bind @rule, which is on a span, if it is not bound yet. Errors go to @d. 0, -EINVAL or -ENOMEM. */
int span_ends__bind(struct rule_conf *rule, struct diags *d);

#endif
