/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of a perf ring and of a perf.data file. Every attr that frbpf opens carries
 * RECORD_SAMPLE_TYPE and sample_id_all, so id, task and time stand at the same place whatever the
 * event: in a sample behind the header {id, ip, pid+tid, time}, in any other record at its end
 * {pid+tid, time, cpu, id} (tools/perf/util/evsel.c: perf_evsel__parse_id_sample).
 */
#ifndef FRBPF_PERFDATA_RECORD_H
#define FRBPF_PERFDATA_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* What every attr of frbpf carries at least, and of what the trailer is made: with ID or STREAM_ID
 * it would be another one. */
#define RECORD_SAMPLE_TYPE                                                                         \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU)

/* Of perf's own records: nothing later in the file is older than the newest before the last round. */
#define RECORD_FINISHED_ROUND 68
#define RECORD_COMPRESSED     81

#define RECORD_TRAILER_SIZE 32 /* bytes of the sample_id at the end of every non-sample record */

/* The trailer; also the last member of every record that we make ourselves. */
struct record_trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, res;
	uint64_t id; /* 0: attr 0 */
};

/* Fixed heads of record bodies, as include/uapi/linux/perf_event.h describes them. */
struct record_mmap {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	char filename[];
};

struct record_mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		};
		struct { /* PERF_RECORD_MISC_MMAP_BUILD_ID */
			uint8_t build_id_size, res1;
			uint16_t res2;
			uint8_t build_id[20];
		};
	};
	uint32_t prot, flags;
	char filename[];
};

struct record_comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[];
};

struct record_task { /* FORK, EXIT */
	struct perf_event_header header;
	uint32_t pid, ppid;
	uint32_t tid, ptid;
	uint64_t time;
};

struct record_lost {
	struct perf_event_header header;
	uint64_t id, lost;
};

struct record_ksymbol {
	struct perf_event_header header;
	uint64_t addr;
	uint32_t len;
	uint16_t ksym_type, flags;
	char name[];
};

/* The name of a symbol of nothing, see sideband/ksymbol_cover.h: as that of a BPF program, or perf does
 * not leave it out of /proc/kcore. */
#define RECORD_KSYMBOL_NONE "bpf_prog_none"

struct record_bpf_event {
	struct perf_event_header header;
	uint16_t type, flags;
	uint32_t id;
	uint8_t tag[8];
};

struct record_cgroup {
	struct perf_event_header header;
	uint64_t id;
	char path[];
};

struct record_namespaces {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t nr;
	struct {
		uint64_t dev, ino;
	} ns[];
};

/* Is the record at @h, of which @avail bytes can be read, one that may stand in our files: a kernel
 * type (1..21), a size that is a multiple of 8, fits, and has room for what its type says? */
bool record__valid(const struct perf_event_header *h, size_t avail);

/* The accessors below want a record that record__valid() accepted. */
uint64_t record__time(const struct perf_event_header *h); /* ns, CLOCK_MONOTONIC */
uint64_t record__id(const struct perf_event_header *h);
void record__set_id(struct perf_event_header *h, uint64_t id);
uint32_t record__pid(const struct perf_event_header *h);
uint32_t record__tid(const struct perf_event_header *h);

/* Append one record of our own to @b (names are cut at PATH_MAX, padded to 8 bytes, trailer last).
 * 0, -ENOMEM, or -EMSGSIZE: longer than a record can be (64 KiB). */
int record__add_comm(struct buf *b, uint16_t misc, uint32_t pid, uint32_t tid, const char *comm,
		     const struct record_trailer *t);
int record__add_mmap(struct buf *b, uint16_t misc, uint32_t pid, uint32_t tid, uint64_t start,
		     uint64_t len, uint64_t pgoff, const char *name,
		     const struct record_trailer *t);
/* @head gives everything but header.type, header.size and the name. */
int record__add_mmap2(struct buf *b, const struct record_mmap2 *head, const char *name,
		      const struct record_trailer *t);
int record__add_ksymbol(struct buf *b, uint64_t addr, uint32_t len, uint16_t type, uint16_t flags,
			const char *name, const struct record_trailer *t);
int record__add_bpf_event(struct buf *b, uint16_t type, uint32_t prog_id, const uint8_t tag[8],
			  const struct record_trailer *t);
int record__add_cgroup(struct buf *b, uint64_t id, const char *path,
		       const struct record_trailer *t);
int record__add_namespaces(struct buf *b, uint32_t pid, uint32_t tid, const uint64_t (*dev_ino)[2],
			   size_t n, const struct record_trailer *t);
/* One sample of our own: how markers look. */
struct record_sample {
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time; /* ns */
	uint32_t cpu;
	bool callchain; /* the attr has PERF_SAMPLE_CALLCHAIN: ips[] follow, the innermost first */
	const uint64_t *ips;
	size_t n_ips;
	const void *raw;
	uint32_t raw_size; /* bytes */
};

/* Append a PERF_RECORD_SAMPLE of RECORD_SAMPLE_TYPE | PERIOD | [CALLCHAIN |] RAW. 0, -ENOMEM or
 * -EMSGSIZE. */
int record__add_sample(struct buf *b, const struct record_sample *s);

/* The raw data of a valid sample that the above made, @callchain as its attr has it, and its CPU; NULL: it has none
 * that fits. */
const void *record__sample_raw(const struct perf_event_header *h, bool callchain, uint32_t *ret_len,
			       uint32_t *ret_cpu);

/* The record at @off of what the above have added, and @off becomes that of the one behind it; NULL: there is none. */
const struct perf_event_header *record__next(const struct buf *b, size_t *off);

#endif
