/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes one perf.data file (file mode, header of 104 bytes). It knows perf's format, but not
 * rules, sessions or rings. Life: create, write records in time order, finish, publish, free. Free
 * before publish removes the file.
 *
 * Files appear atomically. A file is written under a temporary name in its final directory. finish
 * writes the features and the header, and calls fsync; publish renames without replacing.
 */
#ifndef FRBPF_PERFDATA_WRITER_H
#define FRBPF_PERFDATA_WRITER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "perfdata/build_id.h"
#include "perfdata/host_info.h"

/* The format of a tracepoint, for TRACING_DATA. All borrowed. */
struct perfdata_format {
	const char *system, *name;
	const char *text;
	size_t len;
};

struct perfdata_attr {
	const struct perf_event_attr *attr; /* written with size 128, user pointers zeroed */
	const char *name;		    /* name in EVENT_DESC */
	const uint64_t *ids;
	size_t n_ids;
	const struct perfdata_format *format; /* required for PERF_TYPE_TRACEPOINT, else unused */
	/* for a group leader: size of the group, whose other members follow. 0, 1: not a leader */
	uint32_t group_members;
	const char *group_name; /* NULL: none */
};

struct perfdata_build_id {
	struct build_id id;
	bool kernel;	  /* cpumode kernel: [kernel.kallsyms] and modules */
	const char *name; /* path, [kernel.kallsyms] or [vdso] */
};

/* The parts of TRACING_DATA from tracefs, read when the daemon starts. */
struct perfdata_tracing {
	struct buf header_page, header_event, printk_formats, saved_cmdlines;
};

/* A BPF program or BTF in the sections BPF_PROG_INFO and BPF_BTF (bits 25 and 26). Borrowed. */
struct perfdata_blob {
	uint32_t id;
	const void *data;
	size_t len;
};

struct compressor_facts;

/* Data for the features of a file; everything is borrowed until finish returns. */
struct perfdata_features {
	const struct host_info *host;
	const struct perfdata_tracing *tracing;
	const char *const *cmdline; /* NULL terminated */
	const struct perfdata_build_id *build_ids;
	size_t n_build_ids;
	/* each: {u32 info_len, u32 data_len, u64 arrays, info, data} */
	const struct perfdata_blob *bpf_progs;
	size_t n_bpf_progs;
	const struct perfdata_blob *btfs;
	size_t n_btfs;
	uint64_t first_sample, last_sample;	   /* ns; 0, 0: no sample */
	uint64_t clock_resolution;		   /* ns, of CLOCK_MONOTONIC */
	uint64_t realtime, monotonic;		   /* ns, read together: CLOCK_DATA */
	const struct compressor_facts *compressed; /* set by the writer */
};

struct perfdata_writer;

/*
 * Create @dirfd/@tmp_name (mode 0600, must not exist), and write space for the header, ids and
 * attrs. @dirfd (open for reading, not O_PATH) is duplicated, @attrs copied. Names, ids and formats
 * are borrowed until finish returns. Negative errno with a message in @err. -EINVAL: an attr lacks
 * RECORD_SAMPLE_TYPE or sample_id_all, an id is used twice, or a tracepoint lacks the format of its
 * config.
 */
int perfdata__create(int dirfd, const char *tmp_name, const struct perfdata_attr *attrs,
		     size_t n_attrs, struct err *err, struct perfdata_writer **ret);

/*
 * The same for the new file @fd, which is duplicated. The writer only finishes the file: the caller
 * gives it a name, or removes it. @name: for messages.
 */
int perfdata__write_to(int fd, const char *name, const struct perfdata_attr *attrs, size_t n_attrs,
		       struct err *err, struct perfdata_writer **ret);

/* Compress the records, with zstd at @level (1 to 22). Call it before the first record. 0, -EINVAL
 * or -ENOMEM. */
int perfdata__compress(struct perfdata_writer *w, unsigned int level, struct err *err);

/*
 * Append a record, buffered. Its header.size bytes must be readable. -EINVAL: perf would reject
 * the record: bad size, unknown type, or an id that no attr has (0, the first attr, is legal
 * except in a sample); the file is then unchanged. Other negative errno: the write failed, and
 * only free is allowed.
 */
int perfdata__write(struct perfdata_writer *w, const struct perf_event_header *rec,
		    struct err *err);

/* Append a FINISHED_ROUND record: all later records are at least as new as those before the
 * previous round. Errors as for perfdata__write(). */
int perfdata__end_round(struct perfdata_writer *w, struct err *err);

/*
 * From now on readers can use the file under its temporary name, even after we are killed: free no
 * longer removes it. @f: what is known of its features so far. Call it before the first record, and
 * after perfdata__compress().
 */
int perfdata__open(struct perfdata_writer *w, const struct perfdata_features *f, struct err *err);
/*
 * Let readers of an open file see what was written so far. This also happens when the buffer is
 * full.
 */
int perfdata__checkpoint(struct perfdata_writer *w, struct err *err);

/* Bytes of the file so far, without features. */
uint64_t perfdata__size(const struct perfdata_writer *w);

/*
 * Write the feature sections and the header, and fsync the file. Afterwards only publish and free
 * are allowed. @f->host is required. Sections without a source (tracing NULL, no build id,
 * clock_resolution or realtime 0) are left out or empty.
 */
int perfdata__finish(struct perfdata_writer *w, const struct perfdata_features *f, struct err *err);

/* Rename to @name without replacing (-EEXIST: try another name), and fsync the directory. If only
 * the fsync fails, the file stays under @name. *ret_size: bytes of the file. */
int perfdata__publish(struct perfdata_writer *w, const char *name, uint64_t *ret_size,
		      struct err *err);

/* Removes the temporary file, unless it was published. NULL is legal. */
void perfdata__free(struct perfdata_writer *w);

#endif
