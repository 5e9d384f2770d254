/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What frbpf knows about some tracepoints beyond the BTF: their subject, and short names for values
 * that are reached through their arguments.
 */
#ifndef FRBPF_DETECT_TRACEPOINT_INFO_H
#define FRBPF_DETECT_TRACEPOINT_INFO_H

#include "detect/tracepoint/btf_path.h"

/*
 * @target, here and below, is the target of a struct when: "sched:sched_switch". Returns the name
 * without the system.
 */
const char *tracepoint_info__name(const char *target);

/* The subject of a tracepoint. If neither argument is set: the task that runs. */
struct tracepoint_subject {
	int task; /* index of the argument that is the task; -1: none */
	int pid;  /* index of the argument that is the number of the task; -1: none */
	bool nobody;
};
struct tracepoint_subject tracepoint_info__subject(const char *target, const struct btf_trace *t);

/* Do kernel threads hit the tracepoint when they write a dump to disk? */
bool tracepoint_info__disturbed(const char *target);
/* Get how to extract the disk and the data that a hit is about. */
void tracepoint_info__own(const struct btf_trace *t, struct frbpf_own_at *ret);

/* The path that the short name @name stands for; @name itself if it is no short name. */
const char *tracepoint_info__path(const char *target, const char *name);

/* Values that a dump always shows: name @i, or NULL after the last. */
const char *tracepoint_info__shown(const char *target, size_t i);

#endif
