/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes the markers of an incident as perf samples for its files. */
#ifndef FRBPF_DUMP_WINDOW_MARKERS_H
#define FRBPF_DUMP_WINDOW_MARKERS_H

#include "common/buf.h"
#include "dump/incident/incident.h"

/* The markers of one file, as records one after another. */
struct markers { /* { 0 }: none */
	struct buf records;
	uint64_t fields; /* session__marker_fields() */
};

/*
 * Append a sample of frbpf:trigger at the trigger's time, CPU and subject. @stacks: its callchain,
 * or NULL. @reason: of a dump by hand. All of these return 0 or -ENOMEM.
 */
int markers__add_trigger(struct markers *m, const struct incident_trigger *it,
			 const struct frbpf_stacks *stacks, const char *reason);
/* Append frbpf:begin at the beginning of the wait that fired. */
int markers__add_begin(struct markers *m, const struct incident_trigger *it);
/*
 * Append frbpf:gap at @time: the ring of @cpu dropped @count records between @paused and @resumed,
 * ns.
 */
int markers__add_gap(struct markers *m, uint32_t cpu, uint64_t time, uint64_t paused,
		     uint64_t resumed, uint64_t count);

void markers__free(struct markers *m);

#endif
