/* SPDX-License-Identifier: GPL-2.0-only */
/* Decodes the fields of a sample, by its event's sample_type. */
#ifndef FRBPF_PERFDATA_SAMPLE_H
#define FRBPF_PERFDATA_SAMPLE_H

#include "perfdata/cursor.h"
#include "perfdata/perf_file.h"

struct sample { /* fields that the event lacks are 0 or NULL */
	const struct file_event *event;
	uint8_t cpumode; /* PERF_RECORD_MISC_KERNEL, _USER ... */
	uint64_t ip, time /* ns */, addr;
	uint32_t pid, tid, cpu;
	uint64_t period;     /* count of the event that the sample stands for */
	const uint64_t *ips; /* callchain with PERF_CONTEXT_* marks, innermost first */
	size_t n_ips;
	const void *raw; /* fields of a tracepoint, at any alignment */
	uint32_t raw_size;
	/*
	 * user space, from --call-graph dwarf: 8 bytes for each bit of @regs_mask, at any
	 * alignment; NULL: none, or of 32 bits
	 */
	const void *regs;
	uint64_t regs_mask;
	const void *stack; /* the top of the stack, from the stack pointer on */
	uint64_t stack_size;
};

/* The fields before READ; those that the event lacks are 0. */
struct sample_front {
	uint64_t id, ip, time /* ns */, addr, period;
	uint32_t pid, tid, cpu;
};

/* Read the fields before READ. @c: the body of a sample of an event with the sample_type @type. */
struct sample_front sample__front(struct cursor *c, uint64_t type);

/* Decode a sample; other fields (weights, branches ...) are skipped. @ret points into the
 * record. 0, or -EINVAL with a message in @err: the fields do not fit into the record. */
int sample__decode(const struct perf_file *f, const struct file_record *rec, struct err *err,
		   struct sample *ret);

#endif
