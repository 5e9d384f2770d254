/* SPDX-License-Identifier: GPL-2.0-only */
/* Attributes of an event as text, like `perf evlist -v`. */
#ifndef FRBPF_RECORD_ATTR_TEXT_H
#define FRBPF_RECORD_ATTR_TEXT_H

#include <linux/perf_event.h>

#include "common/buf.h"

/* Append "type: 1, size: 128, ...", without attributes that are 0. 0 or -ENOMEM. */
int attr_text__format(const struct perf_event_attr *attr, struct buf *ret);

#endif
