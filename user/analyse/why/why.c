// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/kernel_names.h"
#include "analyse/prev_state.h"
#include "analyse/why/why_impl.h"
#include "common/cleanup.h"

#define LOOKS_MAX    (100u << 20) /* events looked at in one round */
#define SIGNALS_BACK 20000	  /* events searched backwards for the sender of a signal */
#define SIGNAL_AFTER 1000	  /* events after a wake-up that are searched for its signal */
#define SIGNAL_NS    100000	  /* ns after a wake-up that are searched, at most */

int why__new(struct why **ret)
{
	struct why *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->looks_max = LOOKS_MAX;
	*ret = w;
	return 0;
}

void why__free(struct why *w)
{
	if (!w)
		return;
	why_tree__free(w->tree);
	stack_notes__free(&w->notes);
	sched_timeline__free(&w->timeline);
	sched_events__free(&w->events);
	free(w);
}

int why__add_file(struct why *w, const char *path, uint64_t since, struct err *err)
{
	return sched_events__add_file(&w->events, path, since, err);
}

int why__use_kernel_names(struct why *w, const json_t *lines)
{
	if (!json_array_size(lines))
		return 0;
	return symbols__new(&w->notes.symbols) ?: kernel_names__use(lines, w->notes.symbols);
}

const struct why_node *why__root(const struct why *w)
{
	return w->root;
}

const struct sched_events *why__events(const struct why *w)
{
	return &w->events;
}

const struct why_question *why__question(const struct why *w)
{
	return &w->q;
}

size_t why__n_cpus_of(const struct why *w, uint32_t tid)
{
	size_t n = 0;

	for (size_t i = 0; tid == w->q.tid && i < ARRAY_SIZE(w->q.cpus); i++)
		n += __builtin_popcountll(w->q.cpus[i]);
	return n;
}

bool why__may_run_on(const struct why *w, uint32_t tid, uint32_t cpu)
{
	return cpu >= WHY_CPUS || !why__n_cpus_of(w, tid) || w->q.cpus[cpu / 64] >> cpu % 64 & 1;
}

bool why__lacks_kernel_names(const struct why *w)
{
	for (size_t i = 0; i < w->notes.n; i++)
		if (!w->notes.v[i].named)
			return true;
	return false;
}

const char *why__call(const struct why *w)
{
	return w->q.call;
}

const char *why__peer_of(const struct why *w, const struct why_node *n)
{
	return n->key.context == WAKE_NET && n->key.parent == w->root && w->q.peer[0] &&
			       n->first >= w->q.call_from
		       ? w->q.peer
		       : NULL;
}

bool why__peer_is_local(const char *peer)
{
	return !strncmp(peer, "127.", 4) || !strncmp(peer, "[::1]", 5) ||
	       !strncmp(peer, "[::ffff:127.", 12);
}

const struct why_disk *why__disk(const struct why *w, uint32_t dev)
{
	for (size_t i = 0; i < w->q.n_disks; i++)
		if (w->q.disks[i].dev == dev)
			return &w->q.disks[i];
	return NULL;
}

int why__add_unknown(struct why *w, struct why_node *parent, uint32_t tid, enum why_missing missing,
		     uint64_t from, uint64_t to)
{
	const struct why_key key = {
		.parent = parent, .tid = tid, .type = WHY_UNKNOWN, .missing = missing
	};

	return from >= to || why_tree__add(w->tree, &key, from, to - from) ? 0 : -ENOMEM;
}

bool why__may_look(struct why *w)
{
	w->looks_cut = w->looks >= w->looks_max;
	return !w->looks_cut && ++w->looks;
}

enum why_missing why__limit_or(const struct why *w, enum why_missing missing)
{
	return w->looks_cut ? MISSING_LIMIT : missing;
}

static bool tasks_share_process(const struct why *w, uint32_t a, uint32_t b)
{
	const struct sched_task *x = sched_events__task(&w->events, a);
	const struct sched_task *y = sched_events__task(&w->events, b);

	return a == b || (x && y && x->pid && (x->pid == y->pid || b == x->pid));
}

/*
 * Was the task woken to take a signal? The kernel writes the event of the signal right after the
 * wake-up.
 */
static bool is_by_signal(struct why *w, uint32_t wake)
{
	const struct sched_event *v = w->events.v, *e = &v[wake];

	for (size_t i = wake + 1; i < w->events.n && i - wake < SIGNAL_AFTER && why__may_look(w);
	     i++) {
		if (v[i].time - e->time > SIGNAL_NS)
			return false;
		if (v[i].cpu != e->cpu || v[i].tid != e->tid)
			continue;
		if (v[i].kind == SCHED_SWITCH)
			return false;
		if (v[i].kind == SCHED_SIGNAL && tasks_share_process(w, e->other, v[i].other))
			return true;
	}
	return false;
}

/* The context of a wake-up; -1: no event tells. */
static int wake_context_of(struct why *w, uint32_t wake, enum wait_kind kind)
{
	const struct sched_event *e = &w->events.v[wake];
	const struct stack_note *note = stack_notes__of(&w->notes, wake);
	bool in_irq = e->flags & (SCHED_HARDIRQ | SCHED_SOFTIRQ_FLAG);
	enum wake_context c = in_irq || !e->tid ? WAKE_IRQ : WAKE_TASK;

	/*
	 * an interrupt woke it on behalf of a task on another CPU, which this event does not name
	 */
	if (e->kind != SCHED_WAKING && in_irq)
		return kind == WAIT_SLEEP ? WAKE_TIMER : -1;
	if (w->collecting) /* the stack may show that a task sent a packet to us */
		return e->tid && !(e->flags & SCHED_HARDIRQ) ? WAKE_TASK : WAKE_IRQ;
	if (e->stack && note->named)
		c = note->context;
	else if (c == WAKE_TASK && is_by_signal(w, wake))
		c = WAKE_SIGNAL;
	if (c == WAKE_TASK && !e->tid)
		c = WAKE_IRQ;
	/* from an interrupt, only a timer ends a sleep */
	return kind == WAIT_SLEEP && c != WAKE_TASK && c != WAKE_SIGNAL ? WAKE_TIMER : (int)c;
}

/* Who sent the signal that stopped @tid in @s; 0: not recorded. */
static uint32_t stop_sender(struct why *w, uint32_t tid, const struct task_span *s)
{
	uint32_t out = s->out;

	if (w->events.v[out].kind != SCHED_SWITCH) /* offcpu-time: comes after the stop */
		out = sched_events__at(&w->events, s->from);
	for (uint32_t i = 0; i < out && i < SIGNALS_BACK && why__may_look(w); i++) {
		const struct sched_event *e = &w->events.v[out - 1 - i];

		if (e->kind != SCHED_SIGNAL || e->arg < SIGCONT || e->arg > SIGTTOU ||
		    !tasks_share_process(w, tid, e->other))
			continue;
		if (e->arg == SIGCONT) /* the signals above it, up to SIGTTOU, stop a task */
			return 0;
		if (!e->prio) /* result 0: the signal was neither ignored nor already pending */
			return e->tid;
	}
	return 0;
}

/* Set the lock that @key waits for, and who had it when the wait began, if that was recorded. */
static void lock_of(const struct why *w, const struct task_span *s, struct why_key *key)
{
	const struct sched_event *e = s->lock != NO_EVENT ? &w->events.v[s->lock] : NULL;

	if (e && s->out != NO_EVENT && lock_kind__is_of_kernel(e->arg))
		key->kind = wait_kind__with_lock(stack_notes__of(&w->notes, s->out)->kind_in_lock,
						 e->arg);
	if (!e || !wait_kind__is_for(key->kind, e->arg))
		return;
	key->number = e->arg;
	key->sender = why__lock_owner(w, e);
	if (key->kind == WAIT_UNKNOWN)
		key->kind = e->arg == LOCK_FUTEX || e->arg == LOCK_FUTEX_PI ? WAIT_FUTEX
			    : e->arg == LOCK_FLOCK || e->arg == LOCK_POSIX  ? WAIT_FILE_LOCK
									    : WAIT_KERNEL_LOCK;
}

uint32_t why__lock_owner(const struct why *w, const struct sched_event *lock)
{
	const struct sched_task *t;
	uint32_t owner = lock->other;

	if (!owner && lock->other_prio > 0) {
		t = sched_events__own_task(&w->events, lock->other_prio);
		owner = t ? t->tid : 0;
	}
	/* an owner read from the memory of a process is no proof: accept only its own threads */
	if (lock->arg == LOCK_FUTEX && !tasks_share_process(w, lock->tid, owner))
		return 0;
	return owner == lock->tid ? 0 : owner;
}

/* The key of a wait, without its waker */
static struct why_key wait_key(const struct why *w, struct why_node *parent, uint32_t tid,
			       const struct task_span *s)
{
	struct why_key key = { .parent = parent, .tid = tid, .type = WHY_WAITED };
	const struct stack_note *note;

	if (s->out == NO_EVENT)
		return key;
	note = stack_notes__of(&w->notes, s->out);
	key.soft = w->events.off_cpu_times && !w->events.v[s->out].has_stack;
	key.kind = note->kind;
	key.function = note->function;
	key.call = note->call;
	if (w->events.v[s->out].arg & PREV_STATE_STOPPED)
		key.kind = WAIT_STOPPED;
	if (w->events.v[s->out].arg & PREV_STATE_TRACED && key.kind != WAIT_STOPPED)
		key.kind = WAIT_TRACED;
	lock_of(w, s, &key);
	return key;
}

/*
 * The owner of what @key waits for at the end of the interval. Only the question can tell it, no
 * event does. 0: unknown, or @key does not wait then.
 */
static uint32_t owner_at_end(const struct why *w, const struct why_key *key, uint64_t to)
{
	const struct sched_task *t = sched_events__own_task(&w->events, w->q.owner);

	if (!w->q.owner || key->tid != w->q.tid || to != w->q.to ||
	    (key->kind != WAIT_FUTEX && key->kind != WAIT_FILE_LOCK && key->kind != WAIT_UNKNOWN))
		return 0;
	return t ? t->tid : w->q.owner;
}

/*
 * Explain a stop: the sender of the signal stopped the task. What others did until the task
 * continued is no cause.
 */
static int explain_stop(struct why *w, const struct why_key *key, uint64_t from, uint64_t to)
{
	struct why_node *n = why_tree__add(w->tree, key, from, to - from);

	if (!n)
		return -ENOMEM;
	return key->sender ? 0
			   : why__add_unknown(w, n, key->tid, why__limit_or(w, MISSING_SIGNAL),
					      from, to);
}

/*
 * Set the sender of the signal that stopped the task. A traced task without one was stopped by its
 * tracer.
 */
static void set_stop_sender(struct why *w, const struct task_span *s, struct why_key *key)
{
	if (key->kind != WAIT_STOPPED || s->out == NO_EVENT)
		return;
	key->sender = stop_sender(w, key->tid, s);
	if (!key->sender && w->events.v[s->out].arg & PREV_STATE_TRACED)
		key->kind = WAIT_TRACED;
}

/* Does @s come after the end of its task? */
static bool has_ended(const struct why *w, const struct task_span *s)
{
	const struct sched_event *e = s->out != NO_EVENT ? &w->events.v[s->out] : NULL;

	return e && e->kind == SCHED_SWITCH && e->arg & PREV_STATE_ENDED;
}

static bool has_ended_by(const struct why *w, uint32_t tid, uint64_t time)
{
	const struct task_line *l = sched_timeline__task(&w->timeline, tid);
	size_t i = l ? task_line__at(l, time) : 0;

	return l && i < l->n && has_ended(w, &l->v[i]);
}

/* Explain a wait of which no event tells who ended it. */
static int explain_open_end(struct why *w, struct why_key *key, const struct task_span *s,
			    uint64_t from, uint64_t to, size_t depth)
{
	enum why_missing missing = MISSING_HIDDEN;
	enum wake_context owner = WAKE_OWNER;
	struct why_node *n;

	if (s->wake != NO_EVENT || !w->events.recorded[SCHED_WAKING])
		missing = MISSING_WAKING;
	if (s->wake == NO_EVENT && s->to >= w->events.end)
		missing = MISSING_NOT_OVER;
	if (missing == MISSING_NOT_OVER && key->kind == WAIT_STOPPED)
		return explain_stop(w, key, from, to);
	if (missing == MISSING_NOT_OVER) {
		/* the last reader may have released the lock, and others may hold it */
		uint32_t before = key->number == LOCK_RWSEM_READERS ? 0 : key->sender;
		uint32_t now = owner_at_end(w, key, to);

		key->who = now ?: before;
		/* a child may hold the lock of the file now */
		if (key->number == LOCK_FLOCK && has_ended_by(w, key->who, to - 1))
			key->who = 0;
		owner = now ? WAKE_OWNER : WAKE_OWNER_BEFORE;
	}
	if (key->who) {
		key->context = owner;
		n = why_tree__add(w->tree, key, from, to - from);
		return n ? why__explain_task(w, n, key->who, from, to, depth + 1) : -ENOMEM;
	}
	n = why_tree__add(w->tree, key, from, to - from);
	return n ? why__add_unknown(w, n, key->tid, missing, from, to) : -ENOMEM;
}

static int explain_blocked(struct why *w, struct why_node *parent, uint32_t tid,
			   const struct task_span *s, uint64_t from, uint64_t to, size_t depth)
{
	struct why_key key = wait_key(w, parent, tid, s);
	struct why_node *n;
	int context;

	if (s->wake != NO_EVENT)
		stack_notes__want(&w->notes, s->wake);
	if (s->out != NO_EVENT)
		stack_notes__want(&w->notes, s->out);
	set_stop_sender(w, s, &key);
	if (s->wake == NO_EVENT || s->end_hidden)
		return explain_open_end(w, &key, s, from, to, depth);
	context = wake_context_of(w, s->wake, key.kind);
	if (context < 0)
		return explain_open_end(w, &key, s, from, to, depth);
	key.context = context;
	if (context == WAKE_TASK || context == WAKE_SIGNAL)
		key.who = w->events.v[s->wake].tid;
	if (key.kind == WAIT_STOPPED)
		return explain_stop(w, &key, from, to);
	n = why_tree__add(w->tree, &key, from, to - from);
	if (!n)
		return -ENOMEM;
	if (w->collecting && why_device__explain(w, n, tid, s->wake, from, to, depth))
		return -ENOMEM;
	if (context == WAKE_BLOCK)
		return why_device__explain(w, n, tid, s->wake, from, to, depth);
	if (context == WAKE_IRQ)
		return why__add_unknown(w, n, tid, MISSING_STACK, from, to);
	if (context == WAKE_TIMER && key.kind == WAIT_DIRTY)
		return why__add_unknown(w, n, tid, MISSING_DIRTY, from, to);
	if (context == WAKE_NET && why__peer_of(w, n) && why__peer_is_local(why__peer_of(w, n)))
		return why__add_unknown(w, n, tid, MISSING_SENDER, from, to);
	if (!key.who)
		return 0;
	return why__explain_task(w, n, key.who, from, to, depth + 1);
}

static int explain_seen(struct why *w, struct why_node *parent, uint32_t tid,
			const struct task_line *l, const struct task_span *s, uint64_t from,
			uint64_t to, size_t depth)
{
	switch (s->state) {
	case TASK_RUNNING:
		return why_running__explain(w, parent, tid, l, s, from, to);
	case TASK_RUNNABLE:
		if (s->out != NO_EVENT)
			stack_notes__want(&w->notes, s->out);
		return why_runnable__explain(w, parent, tid, s, from, to);
	case TASK_BLOCKED:
		return explain_blocked(w, parent, tid, s, from, to, depth);
	default:
		return why__add_unknown(w, parent, tid,
					has_ended(w, s) ? MISSING_ENDED : MISSING_HIDDEN, from, to);
	}
}

/*
 * What a waiting task did in a gap is unknown: it may have run, and those events were lost. Time on
 * a CPU has its own rule, see why_running__explain().
 */
static int explain_span(struct why *w, struct why_node *parent, uint32_t tid,
			const struct task_line *l, const struct task_span *s, uint64_t from,
			uint64_t to, size_t depth)
{
	bool waits = (s->state == TASK_RUNNABLE || s->state == TASK_BLOCKED) && !s->end_hidden;

	while (from < to) {
		uint64_t end = to;
		uint64_t gap = waits ? sched_timeline__first_gap(&w->timeline, from, to, &end) : to;

		if ((gap > from && explain_seen(w, parent, tid, l, s, from, gap, depth)) ||
		    why__add_unknown(w, parent, tid, MISSING_LOST, gap, end))
			return -ENOMEM;
		from = end;
	}
	return 0;
}

static bool in_circle(const struct why *w, uint32_t tid, size_t depth)
{
	for (size_t i = 0; i < depth; i++)
		if (w->path[i] == tid)
			return true;
	return false;
}

int why__explain_task(struct why *w, struct why_node *parent, uint32_t tid, uint64_t from,
		      uint64_t to, size_t depth)
{
	const struct task_line *l = sched_timeline__task(&w->timeline, tid);
	uint64_t begin = w->events.begin, end = w->events.end;

	if (from >= to)
		return 0;
	if (depth >= WHY_DEPTH || in_circle(w, tid, depth))
		return why__add_unknown(w, parent, tid, MISSING_DEPTH, from, to);
	w->path[depth] = tid;
	if (!l || !l->n)
		return why__add_unknown(w, parent, tid, MISSING_TASK, from, to);
	if (from < begin) {
		if (why__add_unknown(w, parent, tid, MISSING_BEFORE, from, begin < to ? begin : to))
			return -ENOMEM;
		from = begin;
	}
	if (to > end) {
		if (why__add_unknown(w, parent, tid, MISSING_AFTER, from > end ? from : end, to))
			return -ENOMEM;
		to = end;
	}
	for (size_t i = task_line__at(l, from); i < l->n && from < to; i++) {
		uint64_t stop = l->v[i].to < to ? l->v[i].to : to;

		if (l->v[i].from > from || stop <= from) /* times out of order */
			continue;
		if (explain_span(w, parent, tid, l, &l->v[i], from, stop, depth))
			return -ENOMEM;
		from = stop;
	}
	return why__add_unknown(w, parent, tid, MISSING_HIDDEN, from, to);
}

/* One round: build the tree from scratch. */
static int round_of(struct why *w, uint32_t tid, const struct why_question *q, bool collecting)
{
	const struct why_key all = { .tid = tid };

	why_tree__free(w->tree);
	w->tree = NULL;
	w->collecting = collecting;
	w->stacks_cut = !collecting && w->looks_cut;
	w->looks = 0;
	w->looks_cut = false;
	if (why_tree__new(&w->tree))
		return -ENOMEM;
	w->root = why_tree__add(w->tree, &all, q->from, q->to - q->from);
	return w->root ? why__explain_task(w, w->root, tid, q->from, q->to, 0) : -ENOMEM;
}

/*
 * The start of the last wait of @tid that began before @to. If the task has not waited: the time of
 * its first event, such as its birth. What it did may have begun earlier, but that time is not
 * asked about.
 */
static uint64_t last_wait(const struct why *w, uint32_t tid, uint64_t to)
{
	const struct task_line *l = sched_timeline__task(&w->timeline, tid);
	size_t i;

	if (!l)
		return w->events.begin;
	for (i = task_line__at(l, to ? to - 1 : 0) + 1; i-- > 0;)
		if (i < l->n && l->v[i].from < to && l->v[i].state == TASK_BLOCKED)
			return l->v[i].from;
	return l->n > 1 && l->v[0].state == TASK_UNSEEN && l->v[0].to < to ? l->v[0].to
									   : w->events.begin;
}

static int question_complete(const struct why *w, uint32_t tid, struct why_question *q,
			     struct err *err)
{
	if (!q->to)
		q->to = w->events.end;
	if (!q->from)
		q->from = w->events.begin;
	if (q->from == UINT64_MAX)
		q->from = last_wait(w, tid, q->to);
	if (q->from >= q->to)
		return err_set(err, -EINVAL, "the interval ends before it begins");
	if (q->from >= w->events.end || q->to <= w->events.begin)
		return err_set(err, -ENODATA,
			       "nothing was recorded in that interval: the recorded switches are "
			       "from %.6f to %.6f",
			       w->events.begin / 1e9, w->events.end / 1e9);
	return 0;
}

int why__ask(struct why *w, const struct why_question *q, struct err *err)
{
	const struct sched_task *t = sched_events__own_task(&w->events, q->tid);
	uint32_t tid = t ? t->tid : q->tid;
	struct why_question whole = *q;
	int code;

	if (!w->events.recorded[SCHED_SWITCH] || !w->events.begin)
		return err_set(err, -ENODATA,
			       "unknown: no sched:sched_switch was recorded; record -e "
			       "sched:sched_switch -e sched:sched_waking -g");
	sched_events__sort(&w->events);
	if (sched_timeline__build(&w->timeline, &w->events))
		return err_set(err, -ENOMEM, "out of memory");
	code = question_complete(w, tid, &whole, err);
	if (code)
		return code;
	if (!sched_timeline__task(&w->timeline, tid))
		return err_set(err, -ENODATA,
			       "unknown: no event of task %u was recorded: from %.6f to "
			       "%.6f it neither ran nor was woken",
			       q->tid, w->events.begin / 1e9, w->events.end / 1e9);
	if (q->comm[0])
		memcpy(sched_events__task(&w->events, tid)->comm, q->comm, sizeof(q->comm));
	w->notes.events = &w->events;
	w->q = whole;
	w->q.tid = tid;
	if (round_of(w, tid, &whole, true))
		return err_set(err, -ENOMEM, "out of memory, or too many causes");
	code = stack_notes__read(&w->notes, err);
	if (code)
		return code;
	if (round_of(w, tid, &whole, false))
		return err_set(err, -ENOMEM, "out of memory, or too many causes");
	why_tree__sort(w->root);
	return 0;
}

static uint64_t type_below(const struct why_node *n, enum why_type type)
{
	uint64_t ns = n->key.type == type ? n->ns : 0;

	for (const struct why_node *c = n->child; c; c = c->next)
		ns += type_below(c, type);
	return ns;
}

bool why__lacks_interrupts(const struct why *w)
{
	const bool *recorded = w->events.recorded;

	return !recorded[SCHED_IRQ] && !recorded[SCHED_SOFTIRQ] && !recorded[SCHED_INTERRUPT] &&
	       type_below(w->root, WHY_RAN);
}

uint64_t why__unknown_ns(const struct why *w)
{
	return type_below(w->root, WHY_UNKNOWN);
}
