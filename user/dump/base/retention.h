/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What dumps may take on disk. An incident is its manifest and the files of its name in all
 * BASE/session-*. What has no manifest is being written: it is counted and left alone, and the next
 * start finishes or removes it where that was cut off, see recovery.h. Each goes as base_scan__remove()
 * does it, after its line is in removal_log.h's file.
 *
 * Which go first: those without any file, then repeats of the same rule and subject, then what is not
 * the newest of its rule; of each kind the oldest, by base_clock.h. Whatever is too old goes.
 */
#ifndef FRBPF_DUMP_BASE_RETENTION_H
#define FRBPF_DUMP_BASE_RETENTION_H

#include "dump/base/base_dir.h"

#define RETENTION_QUOTAS_MAX INCIDENT_SESSIONS_MAX

/* Of dumps by hand with the same reason the last @max stay. */
struct retention_quota {
	char reason[INCIDENT_REASON_MAX];
	uint32_t max;
};

/* Of `[daemon]`; 0: no limit. */
struct retention_limits {
	uint64_t max_size; /* bytes, of all incidents together */
	uint64_t max_incidents;
	uint64_t max_age;				     /* ns since it was written */
	struct retention_quota quotas[RETENTION_QUOTAS_MAX]; /* zeroed behind n_quotas */
	size_t n_quotas;
};

struct retention_report {
	uint64_t incidents, bytes; /* that are there now; also bytes of what has no manifest */
	uint64_t removed_incidents, removed_bytes; /* just now */
	uint64_t failed;			   /* files that could not be removed */
	int error;				   /* the last of these, negative errno */
	uint64_t next;				   /* ns until the next is too old; 0: never */
	bool waiting;				   /* one of @busy should have gone */
};

/* Remove what is too much, but none of the @n_busy incidents at @busy.
 * The newest incident may be too large, but stays. @now is CLOCK_REALTIME, ns: for the age of manifests
 * of before the base had a clock. 0 or -ENOMEM. */
int retention__apply(const struct base_dir *b, const struct retention_limits *limits, uint64_t now,
		     char (*busy)[INCIDENT_NAME_SIZE], size_t n_busy, struct retention_report *ret);

#endif
