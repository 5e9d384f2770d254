/* SPDX-License-Identifier: GPL-2.0-only */
/* What of the rules' conditions the kernel's own event filter can say: it lets through at least every
 * event that one of them could match. */
#ifndef FRBPF_DETECT_EVENT_FILTER_H
#define FRBPF_DETECT_EVENT_FILTER_H

#include "detect/engine/rule_table.h"
#include "detect/tracepoint/event_format.h"

/* As PERF_EVENT_IOC_SET_FILTER takes it; "": there is nothing that it could keep out. The caller's to
 * free; NULL: out of memory. */
char *event_filter__make(const struct rule_table *table, const struct event_format *f);
/* The same of one rule, which is bound. */
char *event_filter__of_rule(const struct rule_conf *rule, const struct event_format *f);

#endif
