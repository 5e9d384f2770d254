/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the reader share: perf_file.c (header, attrs), file_sections.c (feature sections),
 * file_records.c (records). */
#ifndef FRBPF_PERFDATA_PERF_FILE_IMPL_H
#define FRBPF_PERFDATA_PERF_FILE_IMPL_H

#include "perfdata/block_file.h"
#include "perfdata/perf_file.h"

#define FILE_FEATURES 256

struct file_range {
	uint64_t offset, size; /* bytes */
};

struct file_header {
	char magic[8];
	uint64_t size, attr_size;
	struct file_range attrs, data, event_types;
	uint64_t features[FILE_FEATURES / 64];
};

struct file_entry { /* of the index: a record */
	uint64_t time, offset;
};

#define RECORD_MAX (UINT16_MAX + 1)

struct perf_file {
	struct block_file *file;
	struct block_file *records; /* where the records are: @file, or what was compressed in it */
	struct file_range data;	    /* of the records there */
	struct file_header header;
	struct file_info info; /* its arrays are those below */
	char *path;
	struct file_event *events;
	struct file_id *ids; /* by id */
	size_t n_ids;
	char **cmdline;
	char *hostname, *osrelease, *arch;
	struct file_build_id *build_ids; /* names in sections */
	struct file_format *formats;	 /* texts in sections */
	char **names;			 /* of the events; owned */
	void *sections[3];		 /* bodies that others point into; owned */

	/* the records */
	struct file_entry *index;
	size_t n_index, cap_index, at;
	_Alignas(8) char raw[RECORD_MAX];    /* as it stands in the file */
	_Alignas(8) char normal[RECORD_MAX]; /* with our trailer */
};

/* Read the feature sections. 0 or negative errno with words in @err. */
int file_sections__read(struct perf_file *f, struct err *err);

/* Have @f's records in a file of their own where they are compressed (`perf record -z`). -EINVAL: they are
 * damaged, or would become out of all proportion larger; else the errno of the temporary file. */
int file_inflate(struct perf_file *f, struct err *err);

/* The event of an id: NULL when the file has none. */
const struct file_event *perf_file__event_of_id(const struct perf_file *f, uint64_t id);

#endif
