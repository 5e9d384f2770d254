/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints in tracefs: finds them, also by globs, and reads their formats. */
#ifndef FRBPF_COMMON_TRACEFS_H
#define FRBPF_COMMON_TRACEFS_H

#include <stdint.h>
#include "common/buf.h"
#include "common/err.h"

struct tracefs; /* the mounted file system */

/*
 * Find tracefs (/sys/kernel/tracing, or debugfs/tracing). If it is missing, mount it at
 * /sys/kernel/tracing. 0; -ENOENT or -EPERM with the remedy in @err.
 */
int tracefs__open(struct err *err, struct tracefs **ret);
void tracefs__free(struct tracefs *t);

/* A tracepoint of this kernel. */
struct tracepoint {
	char *system;
	char *name;
	uint64_t id;  /* attr.config of a PERF_TYPE_TRACEPOINT event */
	char *format; /* the text of its format file: what TRACING_DATA needs */
	size_t format_len;
};

/* Find the tracepoint system:name. Owned by the caller. 0; -ENOENT: there is none. */
int tracefs__tracepoint(struct tracefs *t, const char *system, const char *name, struct err *err,
			struct tracepoint **ret);
void tracepoint__free(struct tracepoint *tp);
/* Copy @tp, for a dump that may outlive the session. NULL: out of memory. */
struct tracepoint *tracepoint__dup(const struct tracepoint *tp);

/*
 * Call @fn for each tracepoint that matches the globs (*, ?, []), until it returns non-zero, which
 * is returned. They are sorted by name, as in newer versions of perf (6.1 uses the order of the
 * directory). -ENOENT: none matches.
 */
int tracefs__glob(struct tracefs *t, const char *system_glob, const char *name_glob,
		  int (*fn)(const char *system, const char *name, void *arg), void *arg);

/*
 * Get all names as a NULL-terminated array of "system:name", for nearest_word(). Free each name and
 * the array.
 */
int tracefs__list(struct tracefs *t, char ***ret);

/* Append a file to @b: events/header_page, events/header_event, printk_formats, saved_cmdlines. */
int tracefs__read(struct tracefs *t, const char *path, struct buf *b);

#endif
