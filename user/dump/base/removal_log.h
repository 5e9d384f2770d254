/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BASE/removed.json: a line for each of the last incidents that retention has removed, or that were
 * cut off before their first file, so that `ls` still has it. {"incident", "base_ns", "removed": why, "bytes", "trigger": the manifest's first one,
 * without its stacks}
 */
#ifndef FRBPF_DUMP_BASE_REMOVAL_LOG_H
#define FRBPF_DUMP_BASE_REMOVAL_LOG_H

#include <jansson.h>

#include "common/buf.h"
#include "dump/base/base_dir.h"

#define REMOVAL_LOG_FILE "removed.json"
#define REMOVAL_LOG_MAX	 (256 << 10) /* bytes */

/* Append the line for @manifest of incident @name; NULL where it could not be read. 0 or -ENOMEM. */
int removal_log__add(struct buf *lines, const char *name, const json_t *manifest, const char *why,
		     uint64_t bytes);
/* Add @lines to the file, before anything of them is removed; the oldest lines make room. */
int removal_log__write(const struct base_dir *b, const struct buf *lines, struct err *err);
/* An array, the oldest first, of what the base at @path has; empty where there is nothing. */
json_t *removal_log__read(const char *path);

#endif
