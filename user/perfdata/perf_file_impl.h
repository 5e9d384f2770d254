/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of the reader, shared by perf_file.c (header, attrs, feature sections) and
 * file_records.c (records, also compressed ones). */
#ifndef FRBPF_PERFDATA_PERF_FILE_IMPL_H
#define FRBPF_PERFDATA_PERF_FILE_IMPL_H

#include "perfdata/block_file.h"
#include "perfdata/file_layout.h"
#include "perfdata/perf_file.h"

struct file_entry { /* a record in the index */
	uint64_t time, offset;
};

#define RECORD_MAX (UINT16_MAX + 1)

struct perf_file {
	struct block_file *file;
	struct block_file *records; /* file, or a temporary file with decompressed records */
	struct file_range data;	    /* range of the records in it */
	struct file_header header;
	struct file_info info; /* points to the arrays below */
	char *path;
	struct file_event *events;
	struct file_id *ids; /* by id */
	size_t n_ids;
	char **cmdline;
	char *hostname, *osrelease, *arch;
	struct file_build_id *build_ids; /* the names point into sections */
	struct file_format *formats;	 /* the texts point into sections */
	char **names;			 /* of the events; owned */
	void *sections[3];		 /* bodies that other members point into; owned */

	/* the records */
	struct file_entry *index;
	size_t n_index, cap_index, at;
	_Alignas(8) char raw[RECORD_MAX];    /* as in the file */
	_Alignas(8) char normal[RECORD_MAX]; /* with our trailer */
};

/*
 * Decompress the records (`perf record -z`) into a temporary file. -EINVAL: they are damaged, or
 * their decompressed size is out of proportion; -ENOMEM; or the errno of the temporary file.
 */
int file_inflate(struct perf_file *f, struct err *err);

/* Find the event of an id. NULL: the file has none. */
const struct file_event *perf_file__event_of_id(const struct perf_file *f, uint64_t id);

#endif
