/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records in a perf ring and in a perf.data file. Every attr that frbpf opens has
 * RECORD_SAMPLE_TYPE and sample_id_all, so id, task and time have the same place for all events. In
 * a sample, {id, ip, pid+tid, time} follow the header. Any other record ends with {pid+tid, time,
 * cpu, id} (tools/perf/util/evsel.c: perf_evsel__parse_id_sample).
 */
#ifndef FRBPF_PERFDATA_RECORD_H
#define FRBPF_PERFDATA_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* The bits that every attr of frbpf has at least. They determine the trailer; ID and STREAM_ID
 * would change it. */
#define RECORD_SAMPLE_TYPE                                                                         \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU)

/* Older kernel headers lack these. */
#define SAMPLE_CODE_PAGE_SIZE (1ULL << 23) /* Linux 5.11 */
#define SAMPLE_WEIGHT_STRUCT  (1ULL << 24) /* Linux 5.12 */

/*
 * Fields that are empty in our own samples, one word of 0 for each. They exist because `perf script
 * -F addr` refuses a file with an event that lacks the field. STACK_USER is not among them: no
 * reader asks for it.
 */
#define RECORD_EMPTY_FIELDS                                                                        \
	(PERF_SAMPLE_ADDR | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |                     \
	 PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC |                        \
	 PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR |                 \
	 PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE | SAMPLE_CODE_PAGE_SIZE)
/* The empty fields after the raw data */
#define RECORD_EMPTY_TAIL (RECORD_EMPTY_FIELDS & ~(uint64_t)PERF_SAMPLE_ADDR)

/* Types of perf's own records. FINISHED_ROUND: all later records are at least as new as those
 * before the previous round. */
#define RECORD_FINISHED_ROUND 68
#define RECORD_COMPRESSED     81

#define RECORD_TRAILER_SIZE 32 /* bytes of the sample_id that ends every record but samples */

/* The trailer. The records that we make end with it, too. */
struct record_trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, res;
	uint64_t id; /* 0: that of the first attr */
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

/*
 * Name of a placeholder symbol, see sideband/ksymbol_cover.h. It looks like the name of a BPF
 * program: perf leaves only the symbols of these out of /proc/kcore.
 */
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

/*
 * May the record at @h be written to our files? @avail: bytes that can be read. It needs a type of
 * the kernel (1..21), and a size that is a multiple of 8, at most @avail, and fits the contents.
 */
bool record__valid(const struct perf_event_header *h, size_t avail);

/* The accessors below need a record that record__valid() accepted. */
uint64_t record__time(const struct perf_event_header *h); /* ns, CLOCK_MONOTONIC */
uint64_t record__id(const struct perf_event_header *h);
void record__set_id(struct perf_event_header *h, uint64_t id);
uint32_t record__pid(const struct perf_event_header *h);
uint32_t record__tid(const struct perf_event_header *h);

/* Append a record to @b. Names are cut at PATH_MAX and padded to 8 bytes; @t comes last. 0;
 * -ENOMEM; -EMSGSIZE: above 64 KiB, the largest size of a record. */
int record__add_comm(struct buf *b, uint16_t misc, uint32_t pid, uint32_t tid, const char *comm,
		     const struct record_trailer *t);
int record__add_mmap(struct buf *b, uint16_t misc, uint32_t pid, uint32_t tid, uint64_t start,
		     uint64_t len, uint64_t pgoff, const char *name,
		     const struct record_trailer *t);
/* @head: everything but header.type, header.size and the name. */
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
/* A sample that we make: a marker. */
struct record_sample {
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time; /* ns */
	uint32_t cpu;
	/* fields of the attr beside the fixed ones: RECORD_EMPTY_FIELDS, PERF_SAMPLE_CALLCHAIN */
	uint64_t fields;
	const uint64_t *ips; /* of the callchain, the innermost first */
	size_t n_ips;
	const void *raw;
	uint32_t raw_size; /* bytes */
};

/*
 * Append a PERF_RECORD_SAMPLE of RECORD_SAMPLE_TYPE | PERIOD | RAW | @s->fields. 0, -ENOMEM or
 * -EMSGSIZE.
 */
int record__add_sample(struct buf *b, const struct record_sample *s);

/*
 * Get raw data and CPU of a valid sample from record__add_sample() with these @fields. NULL: the
 * data does not fit into the record.
 */
const void *record__sample_raw(const struct perf_event_header *h, uint64_t fields,
			       uint32_t *ret_len, uint32_t *ret_cpu);

/* Returns the record at *off in a buffer of valid records, and moves *off to the next one. NULL:
 * the end. */
const struct perf_event_header *record__next(const struct buf *b, size_t *off);

#endif
