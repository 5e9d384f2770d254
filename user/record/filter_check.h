/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel would refuse of a tracepoint's --filter, said beforehand and in words. */
#ifndef FRBPF_RECORD_FILTER_CHECK_H
#define FRBPF_RECORD_FILTER_CHECK_H

#include "common/err.h"
#include "record/tracefs.h"

/*
 * 0, or -EINVAL with words in @err: a field that @tp does not have, an operator that is not for it, a missing part. What
 * is not understood here is left to the kernel. Source: kernel/trace/trace_events_filter.c, parse_pred().
 */
int filter_check__run(const struct tracepoint *tp, const char *filter, struct err *err);

#endif
