/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Translates conditions of rules for the event filter of the kernel, as far as it can express them.
 * The filter passes at least every event that a rule could match.
 */
#ifndef FRBPF_DETECT_EVENT_FILTER_H
#define FRBPF_DETECT_EVENT_FILTER_H

#include "detect/engine/rule_table.h"
#include "detect/tracepoint/event_format.h"

/*
 * Make the filter of a rule table, in the syntax of PERF_EVENT_IOC_SET_FILTER; "": it would pass
 * everything. The caller frees it; NULL: out of memory.
 */
char *event_filter__make(const struct rule_table *table, const struct event_format *f);
/* The same for one rule, which is bound. */
char *event_filter__of_rule(const struct rule_conf *rule, const struct event_format *f);

#endif
