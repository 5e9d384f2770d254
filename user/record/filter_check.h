/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds errors in a tracepoint's --filter before the kernel does, with a better message. */
#ifndef FRBPF_RECORD_FILTER_CHECK_H
#define FRBPF_RECORD_FILTER_CHECK_H

#include "common/err.h"
#include "common/tracefs.h"

/*
 * Check @filter. 0, or -EINVAL with a message in @err: @tp lacks the field, the operator does not
 * suit it, or a part is missing. What this check does not understand is left to the kernel. Source:
 * kernel/trace/trace_events_filter.c, parse_pred().
 */
int filter_check__run(const struct tracepoint *tp, const char *filter, struct err *err);

#endif
