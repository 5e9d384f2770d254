/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads perf.data files, ours and those of `perf record`, in file mode and of this machine's byte
 * order. Nothing in a file is believed: every offset, length and count is checked, and the first
 * that does not fit ends the reading with one message that has the offset.
 *
 * Life: open (header, attrs and feature sections), next until it returns 0 (records in time order,
 * perf's own and the kernel's), free. Not locked.
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

/* One attr of the file. */
struct file_event {
	struct perf_event_attr attr; /* of a newer perf: what this program knows of it */
	const char *name;	     /* of EVENT_DESC; without one "sys:name" or "type:config" */
};

/* A symbolised file as the recorder saw it. */
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

/* An id of an event, which the event's records carry. */
struct file_id {
	uint64_t id;
	uint32_t event; /* index in file_info.events */
};

struct file_blob {
	const void *data; /* NULL: there is none */
	size_t len;	  /* bytes */
};

/* What tracefs said, beside the formats. */
struct file_tracing {
	struct file_blob header_page, header_event, printk_formats, saved_cmdlines;
};

/* What the header and the feature sections say. Owned by the file. */
struct file_info {
	const char *path;
	const char *hostname, *osrelease, *arch; /* NULL: not told */
	const char *const *cmdline;		 /* NULL terminated; NULL: not told */
	uint64_t first_sample, last_sample;	 /* ns; 0, 0: not told */
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

/* A record. */
struct file_record {
	uint64_t offset; /* in the file, bytes */
	/* The event it belongs to. NULL in perf's own records (type >= 64). */
	const struct file_event *event;
	/* The record, aligned to 8, until the next call. A sample is as it stands in the file. Any
	 * other of the kernel's has the trailer of record.h and passes record__valid(). */
	const struct perf_event_header *h;
};

/*
 * Open and read all but the records. -EINVAL: not a perf.data file, a damaged one, or of a kind
 * that is not read: other byte order, pipe mode, a directory's. -ENOMEM, or the errno
 * of open or read. Words in @err.
 */
int perf_file__open(const char *path, struct err *err, struct perf_file **ret);
/* NULL is legal. */
void perf_file__free(struct perf_file *f);

const struct file_info *perf_file__info(const struct perf_file *f);
/* NULL: the file has none. */
const struct file_format *perf_file__format(const struct perf_file *f, uint64_t id);
/* False: it is not listed. */
bool perf_file__build_id(const struct perf_file *f, const char *name, struct build_id *ret);

/* Append the body of feature section @bit (HEADER_*) to @ret. -ENOENT: the file has none; other
 * errors with words in @err. */
int perf_file__section(struct perf_file *f, unsigned int bit, struct buf *ret, struct err *err);
/* The times (ns) of the oldest and of the newest record; 0, 0: no record has one. Walks the whole
 * file, like the first perf_file__next(), and with its errors. */
int perf_file__span(struct perf_file *f, struct err *err, uint64_t *ret_first, uint64_t *ret_last);

/*
 * The next record in the order of time; equal times in that of the file, and what has no time (or
 * time 0, as perf's synthesized records) first. The first call walks the whole file: 16 bytes of
 * memory a record. Records of unknown types are left out. 1, 0 at the end, negative errno with
 * words in @err.
 */
int perf_file__next(struct perf_file *f, struct err *err, struct file_record *ret);

/* Say that @rec is wrong; returns -EINVAL. */
int perf_file__bad_record(const struct perf_file *f, const struct file_record *rec, const char *why,
			  struct err *err);

#endif
