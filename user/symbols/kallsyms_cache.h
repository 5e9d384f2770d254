/* SPDX-License-Identifier: GPL-2.0-only */
/* Saves the symbols of the running kernel where perf on another machine looks for them. */
#ifndef FRBPF_SYMBOLS_KALLSYMS_CACHE_H
#define FRBPF_SYMBOLS_KALLSYMS_CACHE_H

#include "common/err.h"
#include "perfdata/build_id.h"

/*
 * Copy /proc/kallsyms into the folder @dir, which is created if needed, in the layout of perf's
 * build-id cache (tools/perf/util/build-id.c): [kernel.kallsyms]/ID/kallsyms and a link
 * .build-id/ID. -EINVAL: @id is of another kernel; -EACCES: this user sees no addresses; else the
 * errno of the write. A message is in @err.
 */
int kallsyms_cache__write(const char *dir, const struct build_id *id, struct err *err);

#endif
