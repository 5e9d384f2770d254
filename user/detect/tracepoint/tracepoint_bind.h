/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Binds rules on tracepoints to the kernel: resolves the names in their conditions to arguments of
 * the tracepoint, or to values on a path from them. Only then can the comparisons be parsed. Needs
 * BTF, but no privilege.
 */
#ifndef FRBPF_DETECT_TRACEPOINT_BIND_H
#define FRBPF_DETECT_TRACEPOINT_BIND_H

#include "rules/ruleset.h"

/*
 * Bind @rule of @rs, if it is on a tracepoint and not bound yet. A name that is not an argument is
 * taken as a field of the format in tracefs; then the source becomes
 * FRBPF_SOURCE_TRACEPOINT_FIELDS. With @partly, a rule that needs fields stays unbound if tracefs
 * cannot be read. Errors go to @d, with their position. 0, -EINVAL or -ENOMEM.
 */
int tracepoint_bind__rule(const struct ruleset *rs, struct rule_conf *rule, bool partly,
			  struct diags *d);

/*
 * Report to @d that the tracepoint @name of the rule does not exist, and suggest the nearest of
 * @names. The array ends with NULL and is freed. Returns -EINVAL.
 */
int tracepoint_bind__unknown(const struct rule_conf *rule, const char *name, char **names,
			     struct diags *d);

/* Warn about parts of a bound rule that are legal, but do not do what they seem to. */
void tracepoint_bind__warn(const struct rule_conf *rule, struct diags *d);

/* Did @partly leave the rule unbound? */
bool tracepoint_bind__left_out(const struct rule_conf *rule);

/*
 * Call @fn with the kind and target of each program that @rule needs, if it is on a tracepoint or a
 * span. For other sources see detectors__programs(), which needs no rule.
 */
void tracepoint_bind__programs(const struct rule_conf *rule,
			       void (*fn)(const char *kind, const char *target, void *arg),
			       void *arg);

/*
 * Describe in words how @rule, which is bound, observes its tracepoint; "": it is on none. The
 * caller frees it; NULL: out of memory.
 */
char *tracepoint_bind__way(const struct rule_conf *rule);

#endif
