/* SPDX-License-Identifier: GPL-2.0-only */
/* How often something may be, or must be: "3 in 10s", "30s per process", "3 in 10s per comm". */
#ifndef FRBPF_RULES_RATE_H
#define FRBPF_RULES_RATE_H

#include "rules/expr.h"

#define RULESET_DUMPS_MAX 256 /* N of max-dumps */

struct rate {
	uint32_t n;	 /* 0: not given, or a time alone */
	uint64_t window; /* ns */
	enum frbpf_per per;
	enum frbpf_field field; /* of FRBPF_PER_FIELD */
};

/* "N in T", with a @scope also "N in T per WHAT". 0, -EINVAL or -ENOMEM. @key is the name of the key.
 */
int rate__parse(const struct source_text *src, struct span span, const char *key, uint32_t n_max,
		const struct field_scope *scope, struct diags *d, struct rate *ret);

/* "T", or "T per WHAT" */
int rate__parse_cooldown(const struct source_text *src, struct span span, const char *key,
			 uint64_t max, const struct field_scope *scope, struct diags *d,
			 struct rate *ret);

/* "per WHAT" */
int rate__parse_per(const struct source_text *src, struct span span,
		    const struct field_scope *scope, struct diags *d, struct rate *ret);

/* What @r of a rule on @source counts by, as a rules file writes it after `per`: "rule", "process" or the
 * name of a field. @args are the rule's, and outlive the result. */
const char *rate__per_name(const struct rate *r, enum frbpf_source source,
			   const struct rule_args *args);

#endif
