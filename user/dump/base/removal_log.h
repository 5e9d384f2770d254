/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log of incidents that are gone.
 *
 * BASE/removed.json: a line for each of the last incidents that retention removed, or that were cut
 * off before their first file. `ls` shows them. A line is {"incident", "base_ns", "removed": why,
 * "bytes", "trigger": the first one of the manifest, without its stacks}.
 */
#ifndef FRBPF_DUMP_BASE_REMOVAL_LOG_H
#define FRBPF_DUMP_BASE_REMOVAL_LOG_H

#include <jansson.h>
#include <stdint.h>

#include "common/buf.h"
#include "dump/base/base_dir.h"

#define REMOVAL_LOG_FILE "removed.json"
#define REMOVAL_LOG_MAX	 (256 << 10) /* bytes */

/* Append the line for @manifest of incident @name; NULL: it could not be read. 0 or -ENOMEM. */
int removal_log__add(struct buf *lines, const char *name, const json_t *manifest, const char *why,
		     uint64_t bytes);
/*
 * Add @lines to the file; the oldest lines make room. Call it before the incidents are removed. 0
 * or negative errno with a message in @err.
 */
int removal_log__write(const struct base_dir *b, const struct buf *lines, struct err *err);
/*
 * Read the lines of the base at @path: an array, the oldest first, owned by the caller. It is empty
 * if there are none.
 */
json_t *removal_log__read(const char *path);

#endif
