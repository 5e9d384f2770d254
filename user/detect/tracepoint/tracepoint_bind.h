/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules on tracepoints meet the kernel: what their conditions name are arguments of the tracepoint,
 * or what is found from these by path; then their comparisons can be read. Needs BTF, no privilege.
 */
#ifndef FRBPF_DETECT_TRACEPOINT_BIND_H
#define FRBPF_DETECT_TRACEPOINT_BIND_H

#include "rules/ruleset.h"

/* Bind @rule of @rs, if it is on a tracepoint and not bound yet. What names no argument is a field of
 * the tracepoint's format in tracefs: the rule's source is FRBPF_SOURCE_TRACEPOINT_FIELDS then. With
 * @partly, a rule that asks for fields where tracefs cannot be read stays unbound. Errors at their
 * place go to @d. 0, -EINVAL or -ENOMEM. */
int tracepoint_bind__rule(const struct ruleset *rs, struct rule_conf *rule, bool partly,
			  struct diags *d);

/* That there is no tracepoint of the rule's name; the nearest of @names, which end with NULL and are freed, is
 * suggested. -EINVAL. */
int tracepoint_bind__unknown(const struct rule_conf *rule, const char *name, char **names,
			     struct diags *d);

/* Of a rule that is bound: what is legal and will not do what one thinks. */
void tracepoint_bind__warn(const struct rule_conf *rule, struct diags *d);

/* Has it been left unbound? */
bool tracepoint_bind__left_out(const struct rule_conf *rule);

/* Call @fn with the kind and the target of the programs that @rule needs, if it is on a tracepoint or a
 * span: of other sources the programs are known without a rule. */
void tracepoint_bind__programs(const struct rule_conf *rule,
			       void (*fn)(const char *kind, const char *target, void *arg),
			       void *arg);

/* How @rule, which is bound, looks at its tracepoint, in words. An empty text: it is on none. The
 * caller's to free; NULL: out of memory. */
char *tracepoint_bind__way(const struct rule_conf *rule);

#endif
