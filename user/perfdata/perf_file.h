/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads perf.data files, ours and those of `perf record`, in file mode and this machine's byte
 * order. Files are not trusted: every offset, length and count is checked. The first bad one ends
 * the reading, with a message that has its offset.
 *
 * Life: open (reads header, attrs and feature sections), next until it returns 0 (records in time
 * order), free. Not locked.
 */
#ifndef FRBPF_PERFDATA_PERF_FILE_H
#define FRBPF_PERFDATA_PERF_FILE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "perfdata/build_id.h"
#include "perfdata/record.h"

struct perf_file;

/* An attr of the file. */
struct file_event {
	struct perf_event_attr attr; /* from a newer perf: only the known fields */
	const char *name;	     /* from EVENT_DESC; else "system:name" or "type:config" */
};

/* Name and build id of a file at the time of recording. */
struct file_build_id {
	const char *name; /* path, "[kernel.kallsyms]", "[vdso]" ... */
	bool kernel;
	struct build_id id;
};

/* The format of a tracepoint. */
struct file_format {
	uint64_t id; /* attr.config */
	const char *system;
	const char *text; /* not NUL terminated */
	size_t len;
};

/* An id in the records of an event. */
struct file_id {
	uint64_t id;
	uint32_t event; /* index in file_info.events */
};

struct file_blob {
	const void *data; /* NULL: none */
	size_t len;	  /* bytes */
};

/* What was read from tracefs, except the formats. */
struct file_tracing {
	struct file_blob header_page, header_event, printk_formats, saved_cmdlines;
};

/* Contents of the header and the feature sections. Owned by the file. */
struct file_info {
	const char *path;
	const char *hostname, *osrelease, *arch; /* NULL: unknown */
	const char *const *cmdline;		 /* NULL terminated; NULL: unknown */
	uint64_t first_sample, last_sample;	 /* ns; 0, 0: unknown */
	const struct file_event *events;
	size_t n_events;
	const struct file_build_id *build_ids;
	size_t n_build_ids;
	const struct file_format *formats;
	size_t n_formats;
	const struct file_id *ids; /* by id */
	size_t n_ids;
	struct file_tracing tracing;
};

struct file_record {
	uint64_t offset; /* in the file, bytes */
	/* The event of the record; NULL: a record of perf itself (type >= 64). */
	const struct file_event *event;
	/* Aligned to 8; valid until the next call. Samples are unchanged. Other records of the
	 * kernel get the trailer of record.h, and pass record__valid(). */
	const struct perf_event_header *h;
};

/*
 * Open a file, and read everything but the records. -EINVAL: not a perf.data file, damaged, or not
 * supported (other byte order, pipe mode, part of a directory); -ENOMEM; or the errno of open or
 * read. A message is in @err.
 */
int perf_file__open(const char *path, struct err *err, struct perf_file **ret);
/* NULL is legal. */
void perf_file__free(struct perf_file *f);

const struct file_info *perf_file__info(const struct perf_file *f);
/* The format of tracepoint @id (attr.config). NULL: the file has none. */
const struct file_format *perf_file__format(const struct perf_file *f, uint64_t id);
/* Get the build id of the file @name. False: it is not listed. */
bool perf_file__build_id(const struct perf_file *f, const char *name, struct build_id *ret);

/* Append the body of feature section @bit (HEADER_*) to @ret. -ENOENT: the file has none; other
 * errors leave a message in @err. */
int perf_file__section(struct perf_file *f, unsigned int bit, struct buf *ret, struct err *err);
/* Get the times (ns) of the oldest and newest record; 0, 0: no record has a time. Reads the whole
 * file, like the first perf_file__next(), with the same errors. */
int perf_file__span(struct perf_file *f, struct err *err, uint64_t *ret_first, uint64_t *ret_last);

/*
 * Get the next record in time order. Records with equal times come in file order; records without
 * a time, or with time 0, such as perf's synthesized ones, come first. The first call reads the
 * whole file, and needs 16 bytes of memory per record. Unknown types are skipped. 1; 0 at the end;
 * negative errno with a message in @err.
 */
int perf_file__next(struct perf_file *f, struct err *err, struct file_record *ret);

/* Put a message about the damaged record @rec into @err; returns -EINVAL. */
int perf_file__bad_record(const struct perf_file *f, const struct file_record *rec, const char *why,
			  struct err *err);

#endif
