// SPDX-License-Identifier: GPL-2.0-only
/*
 * blkio: how long a block request took from queueing to completion. blkio.device: how long it took
 * from its issue to the device until its completion. If it was requeued, the last issue counts. The
 * subject is the task that queued the request; for data written without O_DIRECT, that is a
 * writeback thread. The subject is saved when it queues the request, since it may end before the
 * completion. `current` is the task that the completion interrupted.
 *
 * A request is queued at block_io_start, when it has got a tag. It may then wait in the plug of its
 * issuer, in the scheduler, or for a flush before it. Kernels before 6.5 lack this tracepoint. On
 * these, the time of queueing is the start time that the kernel keeps for its statistics. If
 * statistics are off, it is the time of the request's first tracepoint. Either way, the subject is
 * the task that hits the first tracepoint. For a flush, and for requests that wait for a flush,
 * that task is a kernel worker.
 *
 * A request that is only a flush (fsync) is never issued itself. The kernel issues one request for
 * several flushes; blkio ignores that request, blkio.device measures it. For blkio, a request with
 * a flush before or after it completes when the flush has completed, too.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "look.bpf.h"
#include "match_lock.bpf.h"
#include "own_data.bpf.h"
#include "subject.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct flight_data {
	__u64 queued;	 /* ns; for blkio.device, a time after the request was allocated */
	__u64 issued;	 /* ns; 0: not yet */
	__u64 sector;	 /* the first sector, once a part has completed */
	__u64 done;	 /* bytes of the parts that have completed */
	__u32 foreign;	 /* the task that queued it is not in scope */
	__u32 for_us;	 /* a kernel thread may have queued it for a dump of ours: is_for_us() */
	__u64 rq;	 /* address of the request */
	__u64 cmd_flags; /* saved: the kernel clears the flush flags while a flush is pending */
	struct subject subject;
	struct cgroup_ids cgroups; /* if a rule needs them */
};

#include "in_flight.bpf.h"

/* Is this blkio.device, not blkio? */
const volatile bool of_device;
/* Flag in request::rq_flags: the request is part of a flush sequence of the kernel. */
const volatile __u32 rqf_flush_seq = 1U << 4;
const volatile __u32 req_op_zone_append = ~0U; /* ~0: this kernel has none */

/*
 * Identify a request by its address relative to `control`. A key must be a number, and the only
 * arithmetic on pointers that the verifier allows here is to subtract one from another.
 */
static __always_inline struct flight_key request_key(const struct request *rq)
{
	__u64 key = (__u64)rq;

	asm volatile("%0 -= %1" : "+r"(key) : "r"(&control));
	return (struct flight_key){ { key } };
}

/* Find an active request. Not locked: the events of a request do not overlap. */
static __always_inline struct flight *request_find(const struct request *rq)
{
	struct flight_key key = request_key(rq);
	struct flight *f = bpf_map_lookup_elem(&flights, &key);

	return f && *(volatile __u32 *)&f->depth ? f : NULL;
}

/*
 * Does a kernel thread queue the request, perhaps for a dump of ours? Call it when the request is
 * queued: its pages may be gone later.
 */
static __always_inline bool is_for_us(struct request *rq, struct task_struct *task)
{
	return task->flags & PF_KTHREAD && is_dump_written(bpf_ktime_get_ns()) &&
	       is_own_disk(request_dev(rq)) && bio_may_be_ours((__u64)BPF_CORE_READ(rq, bio));
}

/* Begin a request. @issued: ns; 0: not issued yet. */
static __always_inline void request_flight_begin(struct request *rq, __u64 queued, __u64 issued)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct flight_key key = request_key(rq);
	struct flight *f = flight_begin(&key, queued);
	struct flight_data *p;

	if (!f)
		return;
	p = &f->data;
	p->queued = queued;
	p->issued = issued;
	p->rq = (__u64)rq;
	p->sector = 0;
	p->done = 0;
	p->foreign = !in_scope(task);
	if (!p->foreign) {
		p->for_us = is_for_us(rq, task);
		p->cmd_flags = rq->cmd_flags;
		subject_save(&p->subject, task, rules_bank(), &p->cgroups);
	}
	flight_begun(f, queued, 1);
}

static __always_inline void request_flight_end(const struct request *rq, struct flight *f)
{
	struct flight_key key = request_key(rq);

	flight_ended(f, &key, 0);
}

SEC("tp_btf/block_io_start")
int BPF_PROG(io_start, struct request *rq)
{
	request_flight_begin(rq, of_device ? rq->start_time_ns : bpf_ktime_get_ns(), 0);
	return 0;
}

/* As request_find(), but NULL if the entry is left from an earlier request whose end was missed. */
static __always_inline struct flight *request_under_way(const struct request *rq)
{
	struct flight *f = request_find(rq);

	return f && rq->start_time_ns <= f->data.queued ? f : NULL;
}

/* Only for kernels without block_io_start. */
SEC("tp_btf/block_rq_insert")
int BPF_PROG(io_insert, struct request *rq)
{
	if (!request_under_way(rq))
		request_flight_begin(rq, rq->start_time_ns ?: bpf_ktime_get_ns(), 0);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(io_issue, struct request *rq)
{
	struct flight *f = request_under_way(rq);
	__u64 now = bpf_ktime_get_ns();

	if (f)
		f->data.issued = now;
	else
		request_flight_begin(rq, rq->start_time_ns ?: now, now);
	return 0;
}

/* The request is merged into another one, so it never completes. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(io_merge, struct request *rq)
{
	struct flight *f = request_find(rq);

	if (f)
		request_flight_end(rq, f);
	return 0;
}

/*
 * Set the request's fields. @cmd_flags, @sector: its present values. @bytes: size of its last part.
 */
static __always_inline void match_request(struct match *m, __u32 cmd_flags, __u64 sector,
					  const struct flight_data *p, __u32 bytes)
{
	__u64(*val)[FRBPF_FIELD_WORDS] = m->val[MATCH_SUBJECT];
	__u64 op, flags;

	cmd_flags |= p->cmd_flags;
	op = request_op(cmd_flags, req_op_zone_append);
	flags = request_flags(cmd_flags);

	/* a request that is only a flush is queued as an empty write with PREFLUSH */
	if (op == FRBPF_BLKIO_WRITE && flags & FRBPF_BLKIO_PREFLUSH && !(p->done + bytes))
		op = FRBPF_BLKIO_FLUSH;
	barrier_var(sector); /* else clang selects between pointers of two types before loading */
	if (p->done)
		sector = p->sector;
	val[FRBPF_BLKIO_SECTOR][0] = op == FRBPF_BLKIO_FLUSH ? 0 : sector;
	val[FRBPF_BLKIO_BYTES][0] = p->done + bytes;
	val[FRBPF_BLKIO_OP][0] = op;
	val[FRBPF_BLKIO_FLAGS][0] = flags;
}

static __always_inline void check_request(struct request *rq, const struct flight_data *p,
					  __u32 bytes, __u32 bank, __u64 now, __u64 value)
{
	struct measured s = { .now = now, .value = value, .bank = bank };
	__u64 *busy = match_lock_take(&unmeasured);
	struct match *m;

	if (!busy)
		return;
	s.self = p->for_us && is_dump_written(now);
	s.self |= p->subject.tgid == control.self_tgid;
	m = match_new(&s);
	if (m) {
		m->source = of_device ? FRBPF_SOURCE_BLKIO_DEVICE : FRBPF_SOURCE_BLKIO;
		m->id = request_key(rq).v[0];
		match_request(m, rq->cmd_flags, rq->__sector, p, bytes);
		m->val[MATCH_SUBJECT][FRBPF_BLKIO_DEV][0] = request_dev(rq);
		rules_run_saved(m, &p->subject, &p->cgroups);
	}
	match_lock_give(busy);
}

/* The kernel may have read the clock for a request slightly later than we did. */
#define CLOCK_SLACK 1000000 /* ns */

/*
 * Get the time, ns, from which a completed request is measured. It is later than recorded if the
 * request was requeued and issued again unseen. 0: the entry is left from an earlier request; this
 * is counted.
 */
static __always_inline __u64 completed_begin(const struct request *rq, const struct flight_data *p)
{
	__u64 begin = of_device ? p->issued : p->queued;
	__u64 started = of_device ? rq->io_start_time_ns : rq->start_time_ns;

	if ((__s64)(rq->start_time_ns - p->queued) > CLOCK_SLACK) {
		__sync_fetch_and_add(&not_seen, 1);
		return 0;
	}
	return started > begin ? started : begin;
}

/* A part has completed, and the request continues. */
static __always_inline void flight_add_part(struct flight_data *p, struct request *rq, __u32 bytes)
{
	if (!p->done)
		p->sector = rq->__sector;
	p->done += bytes;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(io_complete, struct request *rq, int error, unsigned int bytes)
{
	struct flight *f = request_find(rq);
	struct flight_data *p;
	__u64 begin, now;
	__u32 bank;

	if (!f)
		return 0;
	p = &f->data;
	if (bytes < rq->__data_len || (!of_device && rq->rq_flags & rqf_flush_seq)) {
		flight_add_part(p, rq, bytes);
		return 0;
	}
	now = bpf_ktime_get_ns();
	bank = rules_bank();
	begin = of_device ? p->issued : p->queued;
	if (begin && !p->foreign && (__s64)(now - begin) > 0 && !rules_below(bank, now - begin)) {
		begin = completed_begin(rq, p);
		if (begin && (__s64)(now - begin) > 0 && !rules_below(bank, now - begin))
			check_request(rq, p, bytes, bank, now, now - begin);
	}
	request_flight_end(rq, f);
	return 0;
}

/* ---- requests that have not completed ---- */

/* Tasks whose request fired a rule in this look. The second pass sends their stacks. */
struct stack_of {
	__u64 tid; /* in the initial pid namespace */
	__u64 born;
};

struct stack_at {
	__u32 tid; /* as in the trigger */
	__u32 cpu;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct stack_of);
	__type(value, struct stack_at);
} stacks_of SEC(".maps");

__u32 n_stacks; /* the daemon sets it to 0 before a look */

/*
 * Is the request of the entry still under way? If its end was missed, @rq may be in use for a later
 * request. Or it is free, and then has no hardware queue.
 */
static __always_inline bool request_lasts(const struct request *rq, const struct flight_data *p)
{
	if (bpf_core_field_exists(rq->mq_hctx) && !BPF_CORE_READ(rq, mq_hctx))
		return false;
	return (__s64)(BPF_CORE_READ(rq, start_time_ns) - p->queued) <= CLOCK_SLACK;
}

/* As completed_begin(), for a request that has not completed. @begin: the recorded time, ns. */
static __always_inline __u64 request_begin(const struct request *rq, __u64 begin)
{
	__u64 started =
		of_device ? BPF_CORE_READ(rq, io_start_time_ns) : BPF_CORE_READ(rq, start_time_ns);

	return started > begin ? started : begin;
}

static __always_inline void check_pending(struct match *m, struct flight *f, __u64 key, __u64 begin)
{
	struct request *rq = (struct request *)f->data.rq;
	struct flight_data *p = &f->data;
	__u64 since = request_begin(rq, begin);
	struct measured s = { .now = look.now, .value = look.now - since, .bank = look.bank & 1 };
	struct stack_of of = { p->subject.tid, p->subject.thread_born };
	struct stack_at at = { p->subject.ns_tid, p->subject.cpu };

	if ((__s64)(look.now - since) <= 0)
		return;
	s.self = p->for_us && is_dump_written(look.now);
	s.self |= p->subject.tgid == control.self_tgid;
	match_measured(m, &s);
	m->is_pending = 1;
	m->source = of_device ? FRBPF_SOURCE_BLKIO_DEVICE : FRBPF_SOURCE_BLKIO;
	m->id = key;
	match_request(m, BPF_CORE_READ(rq, cmd_flags), BPF_CORE_READ(rq, __sector), p,
		      BPF_CORE_READ(rq, __data_len));
	m->val[MATCH_SUBJECT][FRBPF_BLKIO_DEV][0] = request_dev(rq);
	if (!*(volatile __u32 *)&f->depth || (of_device ? p->issued : p->queued) != begin)
		return;
	look_seen(m, f->seen, &f->seen);
	rules_run_saved_pending(m, &p->subject, &p->cgroups);
	if (m->fired && !bpf_map_update_elem(&stacks_of, &of, &at, BPF_ANY))
		n_stacks++;
}

static long request_look(void *map, const __u64 *at, const struct flight *seen, void *unused)
{
	struct flight_key key = {};
	struct flight *f;
	__u32 zero = 0;
	struct match *m;
	__u64 begin;

	if (!seen->depth)
		return 0;
	begin = of_device ? seen->data.issued : seen->data.queued;
	if (!begin || seen->data.foreign || !look_reaches(begin))
		return 0;
	key.v[0] = *at;
	f = bpf_map_lookup_elem(&flights, &key);
	m = bpf_map_lookup_elem(&look_matches, &zero);
	if (!f || !m || !f->data.rq || !request_lasts((const struct request *)f->data.rq, &f->data))
		return 0;
	check_pending(m, f, key.v[0], begin);
	return 0;
}

LOOK_OVER(io_look, flights, request_look)

static long stack_forget(void *map, struct stack_of *key, void *value, void *unused)
{
	struct stack_of of = *key;

	bpf_map_delete_elem(&stacks_of, &of);
	return 0;
}

/* Second pass, only if a rule fired: send the stacks of the tasks in stacks_of. */
SEC("iter/task")
int io_stacks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct stack_of key = {};
	struct stack_at *at;
	__u32 zero = 0;
	struct match *m;

	if (!task) {
		bpf_for_each_map_elem(&stacks_of, stack_forget, NULL, 0);
		return 0;
	}
	key.tid = (__u32)task->pid;
	key.born = task->start_boottime;
	at = bpf_map_lookup_elem(&stacks_of, &key);
	m = bpf_map_lookup_elem(&look_matches, &zero);
	if (!at || !m)
		return 0;
	m->now = look.now;
	m->cpu = at->cpu;
	m->val[MATCH_SUBJECT][FRBPF_FIELD_TID][0] = at->tid;
	stacks_send(m, task, false);
	return 0;
}
