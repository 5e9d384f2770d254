/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Binds rules whose conditions name fields of the format of a tracepoint. Numbers, addresses and
 * short strings become values of the event, as for any source. Longer strings and patterns are
 * compared with the whole field in user space; the value of the event is the result, 0 or 1.
 */
#ifndef FRBPF_DETECT_FIELDS_BIND_H
#define FRBPF_DETECT_FIELDS_BIND_H

#include "detect/engine/rule_table.h"
#include "detect/tracepoint/event_format.h"
#include "rules/ruleset.h"

/*
 * Bind @rule; its source becomes FRBPF_SOURCE_TRACEPOINT_FIELDS. Errors go to @d; @more is appended
 * to those about an unknown name. 0, -EINVAL or -ENOMEM.
 */
int fields_bind__rule(const struct ruleset *rs, struct rule_conf *rule,
		      const struct event_format *f, const char *more, struct diags *d);

/*
 * Get the field that argument @name means. If *ret_text is not NULL, the argument is a comparison
 * of the field with that text.
 */
const struct event_field *fields_bind__find(const struct event_format *f, const char *name,
					    const char **ret_text, bool *ret_glob);

/* Get the value of the argument from the raw data of a sample. */
void fields_bind__value(const struct event_format *f, const char *name, const char *raw,
			size_t size, __u64 ret[2]);

/*
 * ---- arguments that a rule gets after it was read ----
 *
 * Rules on the same tracepoint share slots: one for each argument.
 */

/*
 * Get the index of argument @name of @rule, one of @rs; add it if it is new. -ENOSPC: no slot is
 * free; or -ENOMEM.
 */
int arg_slots__add(const struct ruleset *rs, struct rule_conf *rule, const char *name);

/*
 * ---- the event filter of the kernel ----
 *
 * Conditions of rules are translated for it, as far as it can express them. The filter passes at
 * least every event that a rule could match.
 */

/*
 * Make the filter of a rule table, in the syntax of PERF_EVENT_IOC_SET_FILTER; "": it would pass
 * everything. The caller frees it; NULL: out of memory.
 */
char *event_filter__make(const struct rule_table *table, const struct event_format *f);
/* The same for one rule, which is bound. */
char *event_filter__of_rule(const struct rule_conf *rule, const struct event_format *f);

#endif
