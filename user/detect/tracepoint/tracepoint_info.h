/* SPDX-License-Identifier: GPL-2.0-only */
/* What frbpf knows of some tracepoints beyond what the kernel tells: whom they are about, and short
 * names for what lies behind their arguments. */
#ifndef FRBPF_DETECT_TRACEPOINT_INFO_H
#define FRBPF_DETECT_TRACEPOINT_INFO_H

#include "detect/tracepoint/btf_path.h"

/* Here, @target is that of struct when, "sched:sched_switch". Returns its name without the system. */
const char *tracepoint_info__name(const char *target);

/* Whom it is about. */
struct tracepoint_subject {
	int task; /* index of the argument that is the task; -1: none */
	int pid;  /* of that which is its number */
	bool nobody;
};
/* Neither of them: the task that runs. */
struct tracepoint_subject tracepoint_info__subject(const char *target, const struct btf_trace *t);

/* Is it hit by what a dump being written does to disks, in threads of the kernel? */
bool tracepoint_info__disturbed(const char *target);
/* Where the number of the disk lies that a hit is about; FRBPF_EXTRACT_NONE: its arguments do not tell. */
void tracepoint_info__disk(const struct btf_trace *t, struct frbpf_extract *ret);

/* The path that @name stands for there; @name itself when nothing else is known. */
const char *tracepoint_info__path(const char *target, const char *name);

/* Names for the numbers of @name there, or NULL. */
const struct constant *tracepoint_info__symbols(const char *target, const char *name);

/* What a dump should tell of it in any case: name @i, or NULL behind the last one. */
const char *tracepoint_info__shown(const char *target, size_t i);

#endif
