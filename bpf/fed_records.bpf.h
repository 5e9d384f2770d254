/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes events into the rings of a session. */
#ifndef FRBPF_FED_RECORDS_BPF_H
#define FRBPF_FED_RECORDS_BPF_H

#include "fed_records.h"

/* common_type of the events */
const volatile __u16 event_type = 0;

/* The perf event of the session on each CPU, into whose ring events are written */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, __u32);
} out SEC(".maps");

/* Write @record, of @size bytes, which begins with a struct frbpf_raw_common. */
static __always_inline void record_write(void *ctx, void *record, __u64 size)
{
	struct frbpf_raw_common *common = record;

	common->type = event_type;
	common->pid = (__u32)bpf_get_current_pid_tgid();
	bpf_perf_event_output(ctx, &out, BPF_F_CURRENT_CPU, record, size);
}

#endif
