/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints as tracefs describes them: found, matched by globs, read once and kept. */
#ifndef FRBPF_RECORD_TRACEFS_H
#define FRBPF_RECORD_TRACEFS_H

#include <stdint.h>
#include "common/buf.h"
#include "common/err.h"

struct tracefs; /* the mounted file system, open as a directory */

/* Find tracefs (/sys/kernel/tracing, or debugfs/tracing), mount it at /sys/kernel/tracing when it
 * is not there and we may. -ENOENT or -EPERM with how to mend it in @err. */
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

/* The tracepoint system:name. -ENOENT: no such one. Owned by the caller. */
int tracefs__tracepoint(struct tracefs *t, const char *system, const char *name, struct err *err,
			struct tracepoint **ret);
void tracepoint__free(struct tracepoint *tp);
/* Call @fn for every field of its own ("char", "prev_comm[16]", 16 bytes), not for the common ones.
 * The texts are valid during the call. */
void tracepoint__each_field(const struct tracepoint *tp,
			    void (*fn)(const char *type, const char *name, unsigned int size,
				       void *arg),
			    void *arg);
/* A deep copy, for a dump that may outlive the session. NULL: out of memory. */
struct tracepoint *tracepoint__dup(const struct tracepoint *tp);

/* Call @fn for every tracepoint that matches the globs (*, ?, []) of both halves, sorted by name
 * (newer versions of perf do; 6.1 takes the directory's order), until it returns non-zero, which is
 * returned. -ENOENT when none matches. */
int tracefs__glob(struct tracefs *t, const char *system_glob, const char *name_glob,
		  int (*fn)(const char *system, const char *name, void *arg), void *arg);

/* The names in one NULL-terminated array of "system:name" (for nearest_word); free each and the
 * array. */
int tracefs__list(struct tracefs *t, char ***ret);

/* Contents of events/header_page, events/header_event, printk_formats, saved_cmdlines: appended to
 * @b. */
int tracefs__read(struct tracefs *t, const char *path, struct buf *b);

#endif
