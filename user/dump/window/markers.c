// SPDX-License-Identifier: GPL-2.0-only
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "dump/window/markers.h"
#include "dump/incident/trigger_args.h"
#include "perfdata/marker.h"
#include "perfdata/record.h"

/* A callchain in perf's format: marks for kernel and user, each before its addresses. */
struct chain {
	uint64_t ips[2 * (1 + FRBPF_STACK_MAX)];
	size_t n;
};

static void chain__add(struct chain *c, uint64_t context, const __u64 *ips, size_t n)
{
	if (!n)
		return;
	c->ips[c->n++] = context;
	memcpy(c->ips + c->n, ips, n * sizeof(*ips));
	c->n += n;
}

static int add_marker_sample(struct markers *m, enum marker_kind kind,
			     const struct frbpf_task *task, uint64_t time, uint32_t cpu,
			     const struct chain *chain, struct buf *raw, int err)
{
	bool has_chain = chain && m->fields & PERF_SAMPLE_CALLCHAIN;
	struct record_sample sample = {
		.id = marker__id(kind),
		.pid = task->pid,
		.tid = task->tid,
		.time = time,
		.cpu = cpu,
		.fields = m->fields,
		.ips = has_chain ? chain->ips : NULL,
		.n_ips = has_chain ? chain->n : 0,
		.raw = raw->data,
		.raw_size = raw->len,
	};

	err = err ?: record__add_sample(&m->records, &sample);
	buf__free(raw);
	return err;
}

void markers__free(struct markers *m)
{
	buf__free(&m->records);
}

/* The task of the sample: the subject, or the interrupted task if the source has no subject. */
static const struct frbpf_task *task_of(const struct frbpf_trigger *t)
{
	return when__has_subject(t->source) ? &t->subject : &t->current;
}

int markers__add_trigger(struct markers *m, const struct incident_trigger *it,
			 const struct frbpf_stacks *stacks, const char *reason)
{
	const struct frbpf_trigger *t = &it->t;
	char comm[FRBPF_COMM_LEN + 1], process[FRBPF_COMM_LEN + 1], args[129];
	struct marker_trigger text = {
		.rule = it->rule ? it->rule->name : "manual",
		.source = it->rule ? it->rule->when_text : "manual",
		.value_ns = t->value,
		.threshold_ns = t->threshold,
		.comm = comm,
		.pid = t->subject.pid,
		.tid = t->subject.tid,
		.process = process,
		.key = trigger_args__key(t),
		.reason = reason,
		.args = trigger_args__format(it, args, sizeof(args)),
	};
	struct buf raw = { 0 };
	struct chain chain = { .n = 0 };

	if (stacks) {
		chain__add(&chain, PERF_CONTEXT_KERNEL, stacks->kernel, stacks->n_kernel);
		chain__add(&chain, PERF_CONTEXT_USER, stacks->user, stacks->n_user);
	}
	snprintf(comm, sizeof(comm), "%.*s", FRBPF_COMM_LEN, t->subject.comm);
	snprintf(process, sizeof(process), "%.*s", FRBPF_COMM_LEN, t->subject.process);
	return add_marker_sample(m, MARKER_TRIGGER, task_of(t), t->time, t->cpu, &chain, &raw,
				 marker__encode_trigger(&raw, &text));
}

int markers__add_begin(struct markers *m, const struct incident_trigger *it)
{
	const struct frbpf_trigger *t = &it->t;
	char comm[FRBPF_COMM_LEN + 1];
	struct marker_begin text = {
		.rule = it->rule->name,
		.comm = comm,
		.pid = t->subject.pid,
		.tid = t->subject.tid,
	};
	struct buf raw = { 0 };

	snprintf(comm, sizeof(comm), "%.*s", FRBPF_COMM_LEN, t->subject.comm);
	return add_marker_sample(m, MARKER_BEGIN, task_of(t), incident_trigger__began(it), t->cpu,
				 NULL, &raw, marker__encode_begin(&raw, &text));
}

int markers__add_gap(struct markers *m, uint32_t cpu, uint64_t time, uint64_t paused,
		     uint64_t resumed, uint64_t count)
{
	static const struct frbpf_task nobody;
	struct marker_gap text = { .start = paused, .end = resumed, .count = count, .cpu = cpu };
	struct buf raw = { 0 };

	return add_marker_sample(m, MARKER_GAP, &nobody, time, cpu, NULL, &raw,
				 marker__encode_gap(&raw, &text));
}
