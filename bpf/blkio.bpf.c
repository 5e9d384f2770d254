// SPDX-License-Identifier: GPL-2.0-only
/*
 * blkio: how long a block request took from being queued to its completion; blkio.device: from being
 * issued to the device, for the last time when the device sent it back. The subject is the task that
 * queued it (for data that was written without O_DIRECT, the kernel's writeback), saved then: it may
 * have ended since. `current` is whoever was interrupted by the completion.
 *
 * A request is queued when block_io_start says so: by then its issuer has a place (tag) for it. It
 * may wait in the issuer's plug, in the scheduler, for a flush before it. Kernels before 6.5 lack
 * that tracepoint: there it is the time that the kernel itself keeps for its statistics, or when
 * these are off that of its first tracepoint, and the issuer is who passes that: a flush and what
 * waits for one are issued by a worker of the kernel.
 *
 * A flush on its own (fsync) is never issued itself: the device gets a request that serves several
 * of them, which blkio does not look at, and blkio.device does. A request with a flush before or
 * behind it has completed for blkio when that is done too.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "subject.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MAX_REQUESTS 8192
#define QUEUED	     1 /* at a time that nobody asks for */

struct pending {
	__u64 queued;	 /* 0: it is over */
	__u64 issued;	 /* 0: not yet */
	__u64 sector;	 /* the first, once a part is done */
	__u64 done;	 /* bytes of parts that are done */
	__u64 foreign;	 /* the rules are not about who queued it */
	__u64 cmd_flags; /* while it waits for a flush, the kernel takes away that it asked for one */
	struct subject subject;
	struct cgroup_ids cgroups; /* when a rule looks at them */
};

/*
 * By the address of struct request. The kernel uses these again and again, so an entry stays for the
 * next request at its address, until there are many.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_REQUESTS);
	__type(key, __u64);
	__type(value, struct pending);
} requests SEC(".maps");

static const struct pending no_pending = {};

/* Is a program of this CPU at work with `scratch`? Before 6.2 an interrupt may run it once more. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} at_work SEC(".maps");

/* Which of the two sources this is. */
const volatile bool of_device;
/* Of struct request's rq_flags: belongs to the kernel's sequence of flushes. */
const volatile __u32 rqf_flush_seq = 1U << 4;

/* Requests not measured since the table was full, or since the CPU was at work with another one. */
__u64 dropped;
/* Entries of the table, about. */
__u32 n_entries;

/* The entry for @key, a new one if need be. Events of one request come one after the other. */
static __always_inline struct pending *entry_for(__u64 key)
{
	struct pending *p = bpf_map_lookup_elem(&requests, &key);

	if (p)
		return p;
	if (bpf_map_update_elem(&requests, &key, &no_pending, BPF_NOEXIST)) {
		__sync_fetch_and_add(&dropped, 1);
		return NULL;
	}
	__sync_fetch_and_add(&n_entries, 1);
	return bpf_map_lookup_elem(&requests, &key);
}

static __always_inline struct pending *entry_under_way(__u64 key)
{
	struct pending *p = bpf_map_lookup_elem(&requests, &key);

	return p && p->queued ? p : NULL;
}

static __always_inline void entry_end(struct pending *p, __u64 key)
{
	p->queued = 0;
	if (*(volatile __u32 *)&n_entries <= MAX_REQUESTS / 2)
		return;
	if (!bpf_map_delete_elem(&requests, &key))
		__sync_fetch_and_add(&n_entries, -1);
}

/* @issued 0: not yet. */
static __always_inline void begin(struct request *rq, __u64 queued, __u64 issued)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pending *p = entry_for((__u64)rq);

	if (!p)
		return;
	p->queued = queued;
	p->issued = issued;
	p->sector = 0;
	p->done = 0;
	p->foreign = !in_scope(task);
	if (p->foreign)
		return;
	p->cmd_flags = rq->cmd_flags;
	subject_save(&p->subject, task, rules_half(), &p->cgroups);
}

SEC("tp_btf/block_io_start")
int BPF_PROG(io_start, struct request *rq)
{
	begin(rq, of_device ? QUEUED : bpf_ktime_get_ns(), 0);
	return 0;
}

/* Only of kernels without block_io_start. */
SEC("tp_btf/block_rq_insert")
int BPF_PROG(io_insert, struct request *rq)
{
	if (!entry_under_way((__u64)rq))
		begin(rq, rq->start_time_ns ?: bpf_ktime_get_ns(), 0);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(io_issue, struct request *rq)
{
	__u64 now = bpf_ktime_get_ns();
	struct pending *p = entry_under_way((__u64)rq);

	if (p)
		p->issued = now;
	else
		begin(rq, rq->start_time_ns ?: now, now);
	return 0;
}

/* Two requests become one: this one never completes. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(io_merge, struct request *rq)
{
	struct pending *p = entry_under_way((__u64)rq);

	if (p)
		entry_end(p, (__u64)rq);
	return 0;
}

static __always_inline void match_request(struct match *m, struct request *rq,
					  const struct pending *p, __u32 bytes)
{
	__u64(*val)[FRBPF_FIELD_WORDS] = m->val[MATCH_SUBJECT];
	__u32 cmd_flags = rq->cmd_flags | p->cmd_flags;
	__u64 op = request_op(cmd_flags), flags = request_flags(cmd_flags), sector = rq->__sector;

	/* how a flush on its own is queued */
	if (op == FRBPF_BLKIO_WRITE && flags & FRBPF_BLKIO_PREFLUSH && !(p->done + bytes))
		op = FRBPF_BLKIO_FLUSH;
	barrier_var(sector); /* or it selects between the pointers: the verifier wants one kind */
	if (p->done)
		sector = p->sector;
	val[FRBPF_BLKIO_DEV][0] = request_dev(rq);
	val[FRBPF_BLKIO_SECTOR][0] = op == FRBPF_BLKIO_FLUSH ? 0 : sector;
	val[FRBPF_BLKIO_BYTES][0] = p->done + bytes;
	val[FRBPF_BLKIO_OP][0] = op;
	val[FRBPF_BLKIO_FLAGS][0] = flags;
}

static __always_inline void check_request(struct request *rq, const struct pending *p, __u32 bytes,
					  __u32 half, __u64 now, __u64 value)
{
	struct settle s = { .now = now, .value = value, .half = half };
	__u32 zero = 0;
	__u64 *busy = bpf_map_lookup_elem(&at_work, &zero);
	struct match *m;

	if (!busy)
		return;
	if (*busy) {
		__sync_fetch_and_add(&dropped, 1);
		return;
	}
	*busy = 1;
	barrier();
	s.self = is_dump_written(now);
	m = match_saved(&s, &p->subject, &p->cgroups);
	if (m) {
		m->source = of_device ? FRBPF_SOURCE_BLKIO_DEVICE : FRBPF_SOURCE_BLKIO;
		match_request(m, rq, p, bytes);
		rules_run(m);
	}
	barrier();
	*busy = 0;
}

/* Some of it is done, and the request goes on. */
static __always_inline void add_part(struct pending *p, struct request *rq, __u32 bytes)
{
	if (!p->done)
		p->sector = rq->__sector;
	p->done += bytes;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(io_complete, struct request *rq, int error, unsigned int bytes)
{
	struct pending *p = entry_under_way((__u64)rq);
	__u64 begin, now;
	__u32 half;

	if (!p)
		return 0;
	if (bytes < rq->__data_len || (!of_device && rq->rq_flags & rqf_flush_seq)) {
		add_part(p, rq, bytes);
		return 0;
	}
	now = bpf_ktime_get_ns();
	half = rules_half();
	begin = of_device ? p->issued : p->queued;
	if (begin && !p->foreign && (__s64)(now - begin) > 0 && !rules_below(half, now - begin))
		check_request(rq, p, bytes, half, now, now - begin);
	entry_end(p, (__u64)rq);
	return 0;
}
