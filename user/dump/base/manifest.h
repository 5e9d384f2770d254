/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The manifest of an incident, BASE/incidents/TIME.json, is an interface for programs. Within one
 * `schema`, fields are only added. Times are UTC (RFC 3339, nanoseconds) and, as *_ns,
 * CLOCK_MONOTONIC. Durations are *_ns.
 */
#ifndef FRBPF_DUMP_BASE_MANIFEST_H
#define FRBPF_DUMP_BASE_MANIFEST_H

#include <jansson.h>

#include "dump/base/base_dir.h"
#include "dump/incident/incident.h"

#define MANIFEST_SCHEMA 1
#define MANIFEST_MAX	(16 << 20) /* bytes; ours are far smaller */

/*
 * Write the draft of the manifest of a FROZEN incident: everything except the results of its
 * sessions. Call it before its first file is written, with inc->name_lock held. 0 or negative errno
 * with a message in @err.
 */
int manifest__draft(const struct base_dir *base, const struct incident *inc, const char *hostname,
		    struct err *err);

/*
 * Write the manifest of a WRITTEN incident, or write it again with what has changed. A manifest
 * that was removed meanwhile is not written again. 0 or negative errno with a message in @err.
 */
int manifest__write(const struct base_dir *base, struct incident *inc, const char *hostname,
		    struct err *err);

/*
 * Read the manifest of the incident @name. Owned by the caller; NULL: it does not exist or cannot
 * be read.
 */
json_t *manifest__load(const struct base_dir *base, const char *name);

/*
 * Format a time as in manifests: {"utc", "monotonic_ns"}. The caller owns it; NULL: out of memory.
 */
json_t *manifest__moment(uint64_t realtime_offset, uint64_t monotonic);
/*
 * List the suspends from the beginning of the first window to the freeze: [{"monotonic_ns",
 * "length_ns"}]. Owned by the caller; NULL: there was none.
 */
json_t *manifest__suspends(const struct incident *inc);

/* Changes @manifest. 1: write it; 0: leave it as it is; or negative errno. */
typedef int (*manifest_edit_fn)(json_t *manifest, void *arg);
/*
 * Read the manifest of incident @name, change it and write it again; it cannot be removed
 * meanwhile. 0; -ENOENT: it does not exist or cannot be read; the error of @edit; or that of
 * writing.
 */
int manifest__edit(const struct base_dir *base, const char *name, manifest_edit_fn edit, void *arg,
		   struct err *err);

/*
 * Set `why` in the manifest of incident @name. Later writes of the manifest keep it. @why is
 * borrowed. Errors as above.
 */
int manifest__set_why(const struct base_dir *base, const char *name, json_t *why, struct err *err);

/* The same for `kernel_symbols`, see analyse/kernel_names.h. */
int manifest__set_kernel_symbols(const struct base_dir *base, const char *name, json_t *lines,
				 struct err *err);

/*
 * Set in the manifest of incident @name which matches of @rule were suppressed until the rule fired
 * again, or until now. Replaces an earlier entry of that rule. Later writes of the manifest keep
 * it. @realtime_offset: CLOCK_REALTIME - CLOCK_MONOTONIC, ns. Errors as above.
 */
int manifest__suppressed(const struct base_dir *base, const char *name, const char *rule,
			 const struct frbpf_suppressed *suppressed, uint64_t realtime_offset,
			 struct err *err);

/*
 * Set in the manifest of incident @name the end of the pending event by which task @tid fired
 * @rule. Later writes of the manifest keep it. @realtime_offset and errors as above.
 */
int manifest__ended(const struct base_dir *base, const char *name, const char *rule, pid_t tid,
		    const struct frbpf_ended *e, uint64_t realtime_offset, struct err *err);

#endif
