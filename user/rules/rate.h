/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses rates: "3 in 10s", "30s per process", "3 in 10s per comm". */
#ifndef FRBPF_RULES_RATE_H
#define FRBPF_RULES_RATE_H

#include "rules/expr.h"

#define RULESET_DUMPS_MAX 256 /* N of max-dumps */

struct rate {
	uint32_t n;	 /* 0: not given, or the rate is only a time, as of a cooldown */
	uint64_t time;	 /* ns */
	enum frbpf_per per;
	enum frbpf_field field; /* of FRBPF_PER_FIELD */
};

/*
 * Parse "N in T", and with a @scope also "N in T per WHAT". @key is the name of the key, for
 * messages. 0, -EINVAL or -ENOMEM.
 */
int rate__parse(const struct source_text *src, struct span span, const char *key, uint32_t n_max,
		const struct field_scope *scope, struct diags *d, struct rate *ret);

/* Parse "T" or "T per WHAT". Errors as above. */
int rate__parse_cooldown(const struct source_text *src, struct span span, const char *key,
			 uint64_t max, const struct field_scope *scope, struct diags *d,
			 struct rate *ret);

/* Parse "per WHAT". Errors as above. */
int rate__parse_per(const struct source_text *src, struct span span,
		    const struct field_scope *scope, struct diags *d, struct rate *ret);

/*
 * Get the word after `per` in a rules file: "rule", "process" or the name of a field. @args, the
 * arguments of the rule, must outlive the result.
 */
const char *rate__per_name(const struct rate *r, enum frbpf_source source,
			   const struct rule_args *args);

/*
 * ---- the T of `max-dumps = N in T` ----
 *
 * Times of the last dumps. Allocates nothing.
 */

struct dump_limiter {
	uint64_t begun;			   /* dumps begun so far */
	uint64_t times[RULESET_DUMPS_MAX]; /* ns, of the last dumps; dump i is at i % size */
};

static inline void dump_limiter__note(struct dump_limiter *l, uint64_t now)
{
	l->times[l->begun++ % RULESET_DUMPS_MAX] = now;
}

/* Time from which @max allows one more dump, ns; 0: at any time. */
static inline uint64_t dump_limiter__free_at(const struct dump_limiter *l, const struct rate *max)
{
	if (!max->n || l->begun < max->n)
		return 0;
	return l->times[(l->begun - max->n) % RULESET_DUMPS_MAX] + max->time;
}

#endif
