// SPDX-License-Identifier: GPL-2.0-only
/* Begin and end events by source, like the programs in bpf/ at the same tracepoints */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "analyse/prev_state.h"
#include "analyse/retrace/retrace_impl.h"

/* Returned by an interrupted call, never seen by the program: see bpf/syscall.bpf.c. */
#define ERESTARTSYS   512
#define ERESTART_LAST 516
#define MAX_ERRNO     4095

static uint64_t tapped_number_or_0(const struct tapped *t, const struct format_field *f)
{
	uint64_t v;

	return tapped__number(t, f, &v) ? v : 0;
}

static void set_cpu(const struct tapped *t, struct retraced *e)
{
	if (!(t->s->event->attr.sample_type & PERF_SAMPLE_CPU))
		return;
	retraced__set(e, FRBPF_FIELD_CPU, t->s->cpu);
	e->val[1][FRBPF_FIELD_CPU][0] = t->s->cpu;
	e->unknown[1] &= ~(1U << FRBPF_FIELD_CPU);
}

/* Count an event that ended with this sample. False: it need not be reported. */
static bool value_counts(struct want *w, uint64_t begin, uint64_t time, bool fails)
{
	uint64_t value = time > begin ? time - begin : 0;

	w->result.n++;
	if (value > w->result.largest)
		w->result.largest = value;
	return !w->w.pending && (value > w->w.least || (fails && w->w.fails));
}

/* ---- waits of tasks ---- */

static uint64_t reported_task_state(uint64_t prev_state)
{
	if (prev_state & PREV_STATE_PREEMPTED)
		return FRBPF_STATE_RUNNABLE;
	prev_state &= PREV_STATE_BITS;
	return prev_state & PREV_STATE_IDLE ? FRBPF_STATE_IDLE : prev_state;
}

static bool wait_begins(enum frbpf_source source, uint64_t prev_state, uint64_t state)
{
	if (!(prev_state & PREV_STATE_PREEMPTED) && prev_state & PREV_STATE_ENDED)
		return false;
	if (source == FRBPF_SOURCE_RUNQLAT)
		return state == FRBPF_STATE_RUNNABLE;
	if (source == FRBPF_SOURCE_BLOCKED)
		return state & FRBPF_STATE_UNINTERRUPTIBLE && state != FRBPF_STATE_IDLE;
	return true;
}

static int wait_begin(const struct tapped *t, uint32_t number, uint64_t state,
		      const struct format_field *comm, const struct format_field *prio)
{
	const uint64_t key[FRBPF_SPAN_KEYS] = { number };
	struct flight *f = flight__begin(t->tap->want, key, t->s->time);

	if (!f)
		return -ENOMEM;
	f->state = state;
	f->cpu = t->s->cpu;
	retrace_task__named(t, number, comm, prio, &f->task);
	return 0;
}

static int wait_end(const struct tapped *t, struct flight *f, const struct retrace_task *subject,
		    const struct retrace_task *current)
{
	struct want *w = t->tap->want;
	uint64_t begin = f->begin, state = f->state;
	struct retraced e;

	flight__end(w, f);
	if (!value_counts(w, begin, t->s->time, false))
		return 0;
	retraced__init(&e, subject, current);
	set_cpu(t, &e);
	if (w->w.source == FRBPF_SOURCE_OFFCPU)
		retraced__set(&e, FRBPF_FIELD_STATE, state);
	return want__report(w, begin, t->s->time, &e);
}

/*
 * Track who runs on each CPU. Used by runqlat: a wake-up may find the task still running. 0 or
 * -ENOMEM.
 */
static int running_change(struct want *w, uint64_t prev, uint64_t next)
{
	struct flight *f, *there;

	HASH_FIND(hh, w->running, &prev, sizeof(prev), f);
	if (f)
		HASH_DEL(w->running, f);
	HASH_FIND(hh, w->running, &next, sizeof(next), there);
	if (!next || there) {
		free(f);
		return 0;
	}
	f = f ?: calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->key[0] = next;
	HASH_ADD(hh, w->running, key[0], sizeof(next), f);
	if (f->hh.tbl)
		return 0;
	free(f);
	return -ENOMEM;
}

static bool is_running(const struct want *w, uint64_t tid)
{
	struct flight *f;

	HASH_FIND(hh, w->running, &tid, sizeof(tid), f);
	return f;
}

/*
 * The task switched out begins to wait, unless it has ended; the one switched in has waited. If the
 * task switched out was still waiting, the end of that wait was not seen.
 */
static int sample_switch(const struct tapped *t)
{
	const struct format_field *f = t->tap->fields;
	struct retrace_task subject, current;
	struct want *w = t->tap->want;
	uint64_t prev, next, prev_state, state, key[FRBPF_SPAN_KEYS] = { 0 };
	struct flight *flight;
	int err = 0;

	if (!tapped__number(t, &f[PREV_PID], &prev) || !tapped__number(t, &f[NEXT_PID], &next) ||
	    !tapped__number(t, &f[PREV_STATE], &prev_state))
		return 0;
	state = reported_task_state(prev_state);
	key[0] = prev;
	flight = flight__find(w, key);
	if (flight && w->w.source != FRBPF_SOURCE_BLOCKED) {
		w->result.given_up++;
		flight__end(w, flight);
	}
	if (w->w.source == FRBPF_SOURCE_RUNQLAT)
		err = running_change(w, prev, next);
	if (!err && prev && wait_begins(w->w.source, prev_state, state))
		err = wait_begin(t, prev, state, &f[PREV_COMM], &f[PREV_PRIO]);
	key[0] = next;
	flight = next ? flight__find(w, key) : NULL;
	if (err || !flight)
		return err;
	if (w->w.source == FRBPF_SOURCE_BLOCKED) { /* the task runs, but its wake-up was not seen */
		w->result.given_up++;
		flight__end(w, flight);
		return 0;
	}
	retrace_task__named(t, next, &f[NEXT_COMM], &f[NEXT_PRIO], &subject);
	retrace_task__named(t, prev, &f[PREV_COMM], &f[PREV_PRIO], &current);
	return wait_end(t, flight, &subject, &current);
}

/* The task is in a run queue from now on. */
static int sample_wake(const struct tapped *t)
{
	const struct format_field *f = t->tap->fields;
	struct retrace_task subject, current;
	uint64_t key[FRBPF_SPAN_KEYS] = { 0 };
	struct flight *flight;

	if (!tapped__number(t, &f[WAKE_PID], &key[0]))
		return 0;
	flight = flight__find(t->tap->want, key);
	if (t->tap->want->w.source == FRBPF_SOURCE_RUNQLAT) {
		/*
		 * if the task waits already, it was preempted on its way to sleep; if the task
		 * still runs, it was woken before it slept
		 */
		if (flight || key[0] == t->current || is_running(t->tap->want, key[0]))
			return 0;
		return wait_begin(t, key[0], FRBPF_STATE_RUNNABLE, &f[WAKE_COMM], &f[WAKE_PRIO]);
	}
	if (!flight)
		return 0;
	retrace_task__named(t, key[0], &f[WAKE_COMM], &f[WAKE_PRIO], &subject);
	retrace_task__running(t, &current);
	return wait_end(t, flight, &subject, &current);
}

/* ---- system calls ---- */

static int call_report(const struct tapped *t, struct flight *f, uint64_t end, int64_t ret)
{
	struct want *w = t->tap->want;
	uint32_t error = ret < 0 && ret >= -MAX_ERRNO ? -ret : 0;
	struct flight call = *f;
	struct retraced e;

	flight__end(w, f);
	if (!value_counts(w, call.begin, end, error))
		return 0;
	retraced__init(&e, &call.task, &call.task);
	set_cpu(t, &e);
	e.key = call.number;
	e.error = error;
	retraced__set(&e, FRBPF_FIELD_RET, ret);
	retraced__set(&e, FRBPF_FIELD_SYSCALL, call.number);
	return want__report(w, call.begin, end, &e);
}

static int sample_call_begin(const struct tapped *t)
{
	uint64_t nr, key[FRBPF_SPAN_KEYS] = { t->current };
	struct want *w = t->tap->want;
	struct flight *f;
	int err;

	if (t->current == UINT32_MAX || !tapped__number(t, &t->tap->fields[CALL_NR], &nr) ||
	    nr >= FRBPF_KEY_MAX)
		return 0;
	f = flight__find(w, key);
	if (f && f->left) {
		if (nr == SYS_rt_sigreturn)
			return 0;
		if (nr == SYS_restart_syscall || nr == f->number) {
			f->left = 0;
			return 0;
		}
		err = call_report(t, f, f->left, -EINTR);
		if (err)
			return err;
	}
	f = flight__begin(w, key, t->s->time);
	if (!f)
		return -ENOMEM;
	f->number = nr;
	f->cpu = t->s->cpu;
	retrace_task__running(t, &f->task);
	return 0;
}

static int sample_call_end(const struct tapped *t)
{
	uint64_t nr, key[FRBPF_SPAN_KEYS] = { t->current };
	struct flight *f = flight__find(t->tap->want, key);
	int64_t ret;

	if (!f || !tapped__number(t, &t->tap->fields[CALL_NR], &nr))
		return 0;
	if (nr != f->number && nr != SYS_restart_syscall)
		return 0;
	ret = tapped_number_or_0(t, &t->tap->fields[CALL_RET]);
	if (ret <= -ERESTARTSYS && ret >= -ERESTART_LAST) {
		f->left = t->s->time;
		return 0;
	}
	retrace_task__running(t, &f->task); /* under its current name: the call may be execve */
	return call_report(t, f, t->s->time, ret);
}

/* ---- block requests ---- */

/* The operation: the first letter of rwbs, after an 'F' for REQ_PREFLUSH. */
static uint64_t request_op(const char *rwbs)
{
	if (rwbs[0] == 'F' && rwbs[1] && strchr("WDRN", rwbs[1]))
		rwbs++;
	switch (rwbs[0]) {
	case 'R':
		return FRBPF_BLKIO_READ;
	case 'W':
		return FRBPF_BLKIO_WRITE;
	case 'D':
		return rwbs[1] == 'E' ? FRBPF_BLKIO_SECURE_ERASE : FRBPF_BLKIO_DISCARD;
	case 'F':
		return FRBPF_BLKIO_FLUSH;
	default:
		return FRBPF_BLKIO_OTHER;
	}
}

static bool request_key(const struct tapped *t, uint64_t *key)
{
	const struct format_field *f = t->tap->fields;

	/* a flush has no sectors by which to tell it from another flush */
	return tapped__number(t, &f[RQ_DEV], &key[0]) &&
	       tapped__number(t, &f[RQ_SECTOR], &key[1]) && tapped_number_or_0(t, &f[RQ_SECTORS]);
}

static int sample_request_begin(const struct tapped *t)
{
	uint64_t key[FRBPF_SPAN_KEYS] = { 0 };
	struct flight *f;

	if (!request_key(t, key))
		return 0;
	if (t->tap->role == TAP_ISSUE && flight__find(t->tap->want, key))
		return 0;
	f = flight__begin(t->tap->want, key, t->s->time);
	if (!f)
		return -ENOMEM;
	f->number = tapped_number_or_0(t, &t->tap->fields[RQ_SECTORS]);
	f->state = key[1];
	retrace_task__running(t, &f->task);
	return 0;
}

static int sample_request_end(const struct tapped *t)
{
	const struct format_field *fields = t->tap->fields;
	uint64_t key[FRBPF_SPAN_KEYS] = { 0 }, sectors;
	struct want *w = t->tap->want;
	struct retrace_task current;
	char rwbs[16] = "";
	struct retraced e;
	struct flight *f, rq;

	f = request_key(t, key) ? flight__find(w, key) : NULL;
	if (!f)
		return 0;
	sectors = tapped_number_or_0(t, &fields[RQ_SECTORS]);
	f->done += sectors;
	if (f->done < f->number) { /* the rest of the request begins where this part ended */
		key[1] += sectors;
		flight__move(w, f, key);
		return 0;
	}
	rq = *f;
	flight__end(w, f);
	if (!value_counts(w, rq.begin, t->s->time, false))
		return 0;
	retrace_task__running(t, &current);
	retraced__init(&e, &rq.task, &current);
	set_cpu(t, &e);
	retraced__set(&e, FRBPF_BLKIO_DEV, key[0]);
	retraced__set(&e, FRBPF_BLKIO_SECTOR, rq.state);
	retraced__set(&e, FRBPF_BLKIO_BYTES, rq.done * 512);
	if (tapped__text(t, &fields[RQ_FLAGS], rwbs, sizeof(rwbs)))
		retraced__set(&e, FRBPF_BLKIO_OP, request_op(rwbs));
	return want__report(w, rq.begin, t->s->time, &e);
}

static int sample_request_merged(const struct tapped *t)
{
	uint64_t key[FRBPF_SPAN_KEYS] = { 0 };
	struct flight *f = request_key(t, key) ? flight__find(t->tap->want, key) : NULL;

	if (f)
		flight__end(t->tap->want, f);
	return 0;
}

/* ---- interrupts and reclaim ---- */

static int sample_irq_begin(const struct tapped *t)
{
	uint64_t key[FRBPF_SPAN_KEYS] = { t->s->cpu };
	struct flight *f;

	if (!(t->s->event->attr.sample_type & PERF_SAMPLE_CPU))
		return 0;
	f = flight__begin(t->tap->want, key, t->s->time);
	if (!f)
		return -ENOMEM;
	tapped__text(t, &t->tap->fields[IRQ_NAME], f->task.process, sizeof(f->task.process));
	return 0;
}

static int sample_irq_end(const struct tapped *t)
{
	uint64_t key[FRBPF_SPAN_KEYS] = { t->s->cpu };
	bool soft = t->tap->want->w.source == FRBPF_SOURCE_SOFTIRQ;
	uint64_t number = tapped_number_or_0(t, &t->tap->fields[IRQ_NUMBER]);
	struct flight *f = flight__find(t->tap->want, key), irq;
	const struct retrace_task nobody = { .known = (1U << FRBPF_FIELD_VALUE) - 1 };
	struct retrace_task current;
	struct retraced e;

	if (!f)
		return 0;
	irq = *f;
	flight__end(t->tap->want, f);
	if (!value_counts(t->tap->want, irq.begin, t->s->time, false))
		return 0;
	retrace_task__running(t, &current);
	retraced__init(&e, &nobody, &current);
	set_cpu(t, &e);
	retraced__set(&e, soft ? (uint32_t)FRBPF_SOFTIRQ_VEC : (uint32_t)FRBPF_HARDIRQ_IRQ, number);
	if (soft)
		e.key = number;
	else
		retraced__set_text(&e, FRBPF_HARDIRQ_NAME, irq.task.process);
	return want__report(t->tap->want, irq.begin, t->s->time, &e);
}

static int sample_stall_begin(const struct tapped *t)
{
	uint64_t key[FRBPF_SPAN_KEYS] = { t->current };
	struct flight *f = flight__begin(t->tap->want, key, t->s->time);

	if (!f)
		return -ENOMEM;
	f->cpu = t->s->cpu;
	f->args[STALL_ORDER][0] = tapped_number_or_0(t, &t->tap->fields[STALL_ORDER]);
	f->args[STALL_GFP][0] = tapped_number_or_0(t, &t->tap->fields[STALL_GFP]);
	retrace_task__running(t, &f->task);
	return 0;
}

static int sample_stall_end(const struct tapped *t)
{
	uint64_t key[FRBPF_SPAN_KEYS] = { t->current };
	struct flight *f = flight__find(t->tap->want, key), stall;
	struct retraced e;

	if (!f)
		return 0;
	stall = *f;
	flight__end(t->tap->want, f);
	if (!value_counts(t->tap->want, stall.begin, t->s->time, false))
		return 0;
	retraced__init(&e, &stall.task, &stall.task);
	set_cpu(t, &e);
	retraced__set(&e, FRBPF_RECLAIM_ORDER, stall.args[STALL_ORDER][0]);
	retraced__set(&e, FRBPF_RECLAIM_GFP, stall.args[STALL_GFP][0]);
	retraced__set(&e, FRBPF_RECLAIM_SCOPE, t->tap->layout->number);
	retraced__set(&e, FRBPF_RECLAIM_PAGES, tapped_number_or_0(t, &t->tap->fields[STALL_PAGES]));
	return want__report(t->tap->want, stall.begin, t->s->time, &e);
}

/* ---- tracepoints by name ---- */

static void set_args(const struct tapped *t, struct retraced *e)
{
	for (uint32_t i = 0; i < FRBPF_MAX_ARGS; i++) {
		const struct format_field *f = &t->tap->args[i];
		char text[FRBPF_COMM_LEN];
		uint64_t v;

		if (f->is_text && tapped__text(t, f, text, sizeof(text)))
			retraced__set_text(e, FRBPF_FIELD_ARG + i, text);
		else if (!f->is_text && tapped__number(t, f, &v))
			retraced__set(e, FRBPF_FIELD_ARG + i, v);
	}
}

static int sample_hit(const struct tapped *t)
{
	static const struct format_field none;
	struct retrace_task subject, current;
	struct want *w = t->tap->want;
	struct retraced e;
	uint64_t pid;

	w->result.n++;
	retrace_task__running(t, &current);
	subject = current;
	if (tapped__number(t, &t->tap->subject_pid, &pid))
		retrace_task__named(t, pid, &t->tap->subject_comm, &none, &subject);
	retraced__init(&e, &subject, &current);
	set_cpu(t, &e);
	set_args(t, &e);
	return want__report(w, t->s->time, t->s->time, &e);
}

static bool span_key(const struct tapped *t, const char *const *names, uint64_t *key)
{
	for (uint32_t i = 0; i < t->tap->want->w.n_keys; i++) {
		if (tapped__number(t, &t->tap->keys[i], &key[i]))
			continue;
		if (!strcmp(names[i], "tid") && t->current != UINT32_MAX)
			key[i] = t->current;
		else if (!strcmp(names[i], "pid"))
			key[i] = t->s->pid;
		else if (!strcmp(names[i], "cpu"))
			key[i] = t->s->cpu;
		else
			return false;
	}
	return true;
}

static int sample_span_begin(const struct tapped *t)
{
	uint64_t key[FRBPF_SPAN_KEYS] = { 0 };
	struct want *w = t->tap->want;
	struct flight *f, before = { 0 };
	struct retraced e;

	if (!span_key(t, w->w.start_keys, key))
		return 0;
	f = flight__find(w, key);
	if (f && w->w.nested)
		before = *f;
	f = flight__begin(w, key, t->s->time);
	if (!f)
		return -ENOMEM;
	if (before.begin) {
		memcpy(f->nested, before.nested, sizeof(f->nested));
		if (before.depth < FRBPF_SPAN_DEPTH)
			f->nested[before.depth] = before.begin;
		f->depth = before.depth + 1;
	}
	retraced__init(&e, NULL, NULL);
	set_args(t, &e);
	memcpy(f->args, e.val[0][FRBPF_FIELD_ARG], sizeof(f->args));
	f->state = ~e.unknown[0]; /* bits of the known fields */
	return 0;
}

/* End the innermost span of a nested one; the outer spans go on. */
static bool span_take(struct want *w, struct flight *f, uint64_t *ret_begin)
{
	uint32_t depth = f->depth;

	*ret_begin = f->begin;
	if (!depth) {
		flight__end(w, f);
		return true;
	}
	f->depth--;
	if (depth <= FRBPF_SPAN_DEPTH)
		f->begin = f->nested[depth - 1];
	return depth <= FRBPF_SPAN_DEPTH;
}

static int sample_span_end(const struct tapped *t)
{
	uint64_t key[FRBPF_SPAN_KEYS] = { 0 }, begin;
	struct want *w = t->tap->want;
	struct retrace_task task;
	struct flight *f, span;
	struct retraced e;

	f = span_key(t, w->w.end_keys, key) ? flight__find(w, key) : NULL;
	if (!f)
		return 0;
	span = *f;
	if (!span_take(w, f, &begin) || !value_counts(w, begin, t->s->time, false))
		return 0;
	retrace_task__running(t, &task);
	retraced__init(&e, &task, &task);
	set_cpu(t, &e);
	for (uint32_t i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (!w->w.args[i] || !w->w.arg_at_start[i] ||
		    !(span.state >> (FRBPF_FIELD_ARG + i) & 1))
			continue;
		memcpy(e.val[0][FRBPF_FIELD_ARG + i], span.args[i], sizeof(span.args[i]));
		e.unknown[0] &= ~(1U << (FRBPF_FIELD_ARG + i));
	}
	set_args(t, &e);
	return want__report(w, begin, t->s->time, &e);
}

static const struct {
	int (*begin)(const struct tapped *t);
	int (*end)(const struct tapped *t);
} paired[] = {
	[FRBPF_SOURCE_SYSCALL] = { sample_call_begin, sample_call_end },
	[FRBPF_SOURCE_BLKIO] = { sample_request_begin, sample_request_end },
	[FRBPF_SOURCE_BLKIO_DEVICE] = { sample_request_begin, sample_request_end },
	[FRBPF_SOURCE_HARDIRQ] = { sample_irq_begin, sample_irq_end },
	[FRBPF_SOURCE_SOFTIRQ] = { sample_irq_begin, sample_irq_end },
	[FRBPF_SOURCE_RECLAIM] = { sample_stall_begin, sample_stall_end },
	[FRBPF_SOURCE_SPAN] = { sample_span_begin, sample_span_end },
};

int want__sample(const struct tapped *t)
{
	enum frbpf_source source = t->tap->want->w.source;

	switch (t->tap->role) {
	case TAP_SWITCH:
		return sample_switch(t);
	case TAP_WAKE:
		return sample_wake(t);
	case TAP_BEGIN:
	case TAP_ISSUE:
		return paired[source].begin(t);
	case TAP_END:
		return paired[source].end(t);
	case TAP_MERGE:
		return sample_request_merged(t);
	default:
		return sample_hit(t);
	}
}
