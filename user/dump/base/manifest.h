/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The manifest of an incident, BASE/incidents/TIME.json: a contract for programs. Fields are only
 * ever added within one `schema`; times are UTC (RFC 3339, nanoseconds) and, as *_ns, of
 * CLOCK_MONOTONIC; durations are *_ns.
 */
#ifndef FRBPF_DUMP_BASE_MANIFEST_H
#define FRBPF_DUMP_BASE_MANIFEST_H

#include <jansson.h>

#include "dump/base/base_dir.h"
#include "dump/incident/incident.h"

#define MANIFEST_SCHEMA 1

/*
 * Write the draft of a FROZEN one's manifest: all but what its sessions gave. Before the first of its
 * files; the caller holds inc->name_lock.
 */
int manifest__draft(const struct base_dir *base, const struct incident *inc, const char *hostname,
		    struct err *err);

/* Write the manifest of a WRITTEN incident, or write it again with what was merged since. One that was
 * written and is gone stays gone: 0. */
int manifest__write(const struct base_dir *base, struct incident *inc, const char *hostname,
		    struct err *err);

/* How manifests have a time: {"utc", "monotonic_ns"}. NULL: out of memory. */
json_t *manifest__moment(uint64_t realtime_offset, uint64_t monotonic);
/* The suspends from the beginning of the first window to the freeze: [{"monotonic_ns", "length_ns"}], or NULL
 * when there was none. */
json_t *manifest__suspends(const struct incident *inc);

/* Changes @manifest. 1: it is to be written; 0: it stays as it is; or negative errno. */
typedef int (*manifest_edit_fn)(json_t *manifest, void *arg);
/* Read the manifest of incident @name, change it, and write it again; nobody removes it meanwhile.
 * 0, -ENOENT: there is none any more, or it cannot be read; what @edit said; or why it cannot be
 * written. */
int manifest__edit(const struct base_dir *base, const char *name, manifest_edit_fn edit, void *arg,
		   struct err *err);

/* Say in the manifest of incident @name why it happened; stays when the manifest is written again. @why is borrowed. 0, or as
 * manifest__edit(). */
int manifest__set_why(const struct base_dir *base, const char *name, json_t *why, struct err *err);

/* Say in the manifest of incident @name what was suppressed of its rule @rule until the rule fired
 * again, or until now: replaces what stood there of that rule, and stays when the manifest is written
 * again. @realtime_offset: CLOCK_REALTIME - CLOCK_MONOTONIC, ns. -ENOENT: there is none any more. */
int manifest__suppressed(const struct base_dir *base, const char *name, const char *rule,
			 const struct frbpf_suppressed *suppressed, uint64_t realtime_offset,
			 struct err *err);

#endif
