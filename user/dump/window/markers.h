/* SPDX-License-Identifier: GPL-2.0-only */
/* The markers of an incident as records of its files: from what fired to perf's samples. */
#ifndef FRBPF_DUMP_WINDOW_MARKERS_H
#define FRBPF_DUMP_WINDOW_MARKERS_H

#include "common/buf.h"
#include "dump/incident/incident.h"

/* The markers of one file, records back to back. */
struct markers { /* { 0 }: none */
	struct buf records;
	bool callchain; /* the file's events have callchains: so have the markers, see dump_file.c
			 */
};

/* Append a sample of frbpf:trigger at the trigger's time, CPU and subject, with its callchain where
 * there is one (else NULL); @reason is that of a manual dump. All return 0 or -ENOMEM. */
int markers__add_trigger(struct markers *m, const struct incident_trigger *it,
			 const struct frbpf_stacks *stacks, const char *reason);
/* frbpf:begin, where the wait that fired began. */
int markers__add_begin(struct markers *m, const struct incident_trigger *it);
/* frbpf:gap at @time: from @paused to @resumed (ns) the ring of @cpu dropped @count records. */
int markers__add_gap(struct markers *m, uint32_t cpu, uint64_t time, uint64_t paused,
		     uint64_t resumed, uint64_t count);

void markers__free(struct markers *m);

#endif
