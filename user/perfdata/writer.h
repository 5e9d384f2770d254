/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes one perf.data file (file mode, header of 104 bytes). It knows perf's format and nothing of
 * rules, sessions or rings. Life: create, write records in time order, finish (or free: then
 * nothing is left).
 *
 * A file is whole or it is not there: it grows under a temporary name in its final directory;
 * finish writes the features, the header and fsyncs; publish renames without replacing.
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
	const char *name;		    /* as EVENT_DESC shows it */
	const uint64_t *ids;
	size_t n_ids;
	const struct perfdata_format *format; /* type PERF_TYPE_TRACEPOINT only: required then */
	/* of a leader: itself and those behind it that are of its group. 0, 1: it leads none */
	uint32_t group_members;
	const char *group_name; /* NULL: it has none */
};

struct perfdata_build_id {
	struct build_id id;
	bool kernel;	  /* cpumode kernel: [kernel.kallsyms] and modules */
	const char *name; /* path, [kernel.kallsyms] or [vdso] */
};

/* tracefs's parts of TRACING_DATA; read when the daemon starts. */
struct perfdata_tracing {
	struct buf header_page, header_event, printk_formats, saved_cmdlines;
};

/* A BPF program or BTF blob as the BPF_PROG_INFO and BPF_BTF sections hold it (perf-data section 3,
 * bits 25, 26). */
struct perfdata_blob {
	uint32_t id;
	const void *data;
	size_t len;
};

struct compressor_facts;

/* What the features of this one file say; everything borrowed until finish returns. */
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
	const struct compressor_facts *compressed; /* the writer's */
};

struct perfdata_writer;

/* Create @dirfd/@tmp_name (mode 0600, must not exist) and write header space, ids and attrs. @dirfd
 * (open for reading, not O_PATH) is duplicated, @attrs copied; the names, ids and formats are
 * borrowed until finish returns. Negative errno with words in @err; -EINVAL for attrs that readers
 * would not read alike (RECORD_SAMPLE_TYPE and sample_id_all in all of them, no id twice, of each
 * tracepoint the format of its config). */
int perfdata__create(int dirfd, const char *tmp_name, const struct perfdata_attr *attrs,
		     size_t n_attrs, struct err *err, struct perfdata_writer **ret);

/* Compress the records, with zstd at @level (1 to 22); before the first. 0, -EINVAL or -ENOMEM. */
int perfdata__compress(struct perfdata_writer *w, unsigned int level, struct err *err);

/* Append one record (buffered; its header.size bytes are readable). 0, negative errno of write, or
 * -EINVAL for a record that perf would choke on: bad size, unknown type, an id that no attr lists
 * (0, attr 0, is legal but in a sample). A refused record leaves the file as it was; after a failed
 * write only free is left. */
int perfdata__write(struct perfdata_writer *w, const struct perf_event_header *rec,
		    struct err *err);

/* A FINISHED_ROUND record: whatever is appended from now on is not older than what stood before the
 * last round. Errors as for perfdata__write(). */
int perfdata__end_round(struct perfdata_writer *w, struct err *err);

/* Write the feature sections and the header, fsync the file. After it only publish or free.
 * @f->host is required; sections without a source (tracing NULL, no build id, clock_resolution or
 * realtime 0) are left out or empty. */
int perfdata__finish(struct perfdata_writer *w, const struct perfdata_features *f, struct err *err);

/* Rename to @name without replacing (-EEXIST: try another name) and fsync the directory; when only
 * that fails the file stays under @name. *ret_size: bytes of the file. */
int perfdata__publish(struct perfdata_writer *w, const char *name, uint64_t *ret_size,
		      struct err *err);

/* Unlinks the temporary file unless it was published. NULL is legal. */
void perfdata__free(struct perfdata_writer *w);

#endif
