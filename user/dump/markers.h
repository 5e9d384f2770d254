/* SPDX-License-Identifier: GPL-2.0-only */
/* The markers of an incident as records of its files: from what fired to perf's samples. */
#ifndef FRBPF_DUMP_MARKERS_H
#define FRBPF_DUMP_MARKERS_H

#include "common/buf.h"
#include "dump/incident.h"

/* Append to @b a sample of frbpf:trigger at the trigger's time, CPU and subject; @reason is that of
 * a manual dump. All return 0 or -ENOMEM. */
int markers__add_trigger(struct buf *b, const struct incident_trigger *it, const char *reason);
/* frbpf:begin, where the wait that fired began. */
int markers__add_begin(struct buf *b, const struct incident_trigger *it);
/* frbpf:gap at @time: from @paused to @resumed (ns) the ring of @cpu dropped @count records. */
int markers__add_gap(struct buf *b, uint32_t cpu, uint64_t time, uint64_t paused, uint64_t resumed,
		     uint64_t count);

#endif
