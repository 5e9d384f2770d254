/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits the disk space of dumps. An incident is its manifest and the files of its name in all
 * BASE/session-*. An incident without a manifest is being written: it is counted but not removed.
 * If it was cut off, the next start finishes or removes it, see recovery.h. Before
 * base_scan__remove() removes an incident, the removal log gets its line: removal_log.h.
 *
 * Incidents without files are removed first. Then follow repeats of the same rule and subject, and
 * those that are not the newest of their rule. Within each kind the oldest goes first, by
 * base_clock.h. Incidents that are too old always go.
 */
#ifndef FRBPF_DUMP_BASE_RETENTION_H
#define FRBPF_DUMP_BASE_RETENTION_H

#include "dump/base/base_dir.h"

#define RETENTION_QUOTAS_MAX INCIDENT_SESSIONS_MAX

/*
 * Keep the last @max incidents that were requested by hand with this reason. With @of_session: keep
 * the last @max incidents without a rule that have a dump of the session of this name. As an
 * incident is removed as a whole, it stays as long as any of its sessions keeps it.
 */
struct retention_quota {
	char reason[INCIDENT_REASON_MAX];
	bool of_session;
	uint32_t max;
};

/* The limits of `[daemon]`; 0: no limit. */
struct retention_limits {
	uint64_t max_size; /* bytes, of all incidents together */
	uint64_t max_incidents;
	uint64_t max_age;				     /* ns since it was written */
	struct retention_quota quotas[RETENTION_QUOTAS_MAX]; /* zeroed after n_quotas */
	size_t n_quotas;
};

struct retention_report {
	uint64_t incidents, bytes; /* on disk now; bytes also of those without a manifest */
	uint64_t removed_incidents, removed_bytes; /* by this call */
	uint64_t failed;			   /* files that could not be removed */
	int error;				   /* negative errno of the last one */
	uint64_t next;				   /* ns until the next is too old; 0: never */
	bool waiting; /* an incident of @busy should have been removed */
};

/*
 * Remove what exceeds the limits, but none of the @n_busy incidents in @busy. The newest incident
 * stays, even if it is too large. @now is CLOCK_REALTIME, ns, for the age of manifests older than
 * the base's clock. 0 or -ENOMEM.
 */
int retention__apply(const struct base_dir *b, const struct retention_limits *limits, uint64_t now,
		     char (*busy)[INCIDENT_NAME_SIZE], size_t n_busy, struct retention_report *ret);

#endif
