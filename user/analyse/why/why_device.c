// SPDX-License-Identifier: GPL-2.0-only
/*
 * Explains a wait that a completed request ended: which request, and for whom the device worked
 * meanwhile. A device may work on several requests at once, so requests issued after this one did
 * not delay it. Requests issued before this one did delay it. From one completion to the next, the
 * device is taken to work for the sender of the request that completes next. For the time before
 * the request was sent, the tree shows who delayed it.
 */
#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL when memory is out */
#include <uthash.h>

#include "analyse/why/why_impl.h"

#define BACK_NS	  1000000000 /* ns before the wait: earlier requests are not known */
#define BACK_MOST 500000     /* events */
#define SAME_IRQ  1000000    /* ns, at most, from a completion to its wake-up */

/* The latest request at a sector of the device. All flushes have sector 0. */
struct device_request {
	uint64_t sector;
	uint64_t inserted, issued; /* ns; 0: not seen */
	uint32_t inserted_by, issued_by;
	uint32_t in_flight;
	bool several;  /* of those in flight, events do not tell which is which */
	bool requeued; /* it was requeued: the sender and the time of the first try are kept */
	UT_hash_handle hh;
};

struct device_past {
	struct why *w;
	struct why_node *n;
	struct device_request *requests;
	/* the request that ended the wait; inserted: when it was first sent; issued 0: not seen */
	struct device_request own;
	uint32_t tid, dev;
	uint32_t first;	 /* event: earlier ones are not looked at */
	uint32_t end;	 /* event: the completion that ended the wait */
	bool cut;	 /* there are too many events to look at them all */
	bool several;	 /* several flushes: it is unknown which of them ended the wait */
	uint64_t before; /* ns: explained up to here */
	uint64_t to;
	size_t depth;
};

/*
 * The completion that woke the task: the last one before @wake on that CPU, in the same interrupt.
 * A request that needs a flush completes right after the flush, with a completion of its own. The
 * device worked on the flush, so the completion of the flush counts.
 */
static uint32_t request_end(struct why *w, uint32_t wake)
{
	const struct sched_event *v = w->events.v, *e = &v[wake];
	uint32_t found = NO_EVENT;

	for (uint32_t i = wake; i-- > 0 && e->time - v[i].time < SAME_IRQ && why__may_look(w);) {
		if (v[i].cpu != e->cpu)
			continue;
		if (v[i].kind == SCHED_SWITCH)
			break;
		if (v[i].kind != SCHED_RQ_COMPLETE ||
		    (found != NO_EVENT && v[i].arg != v[found].arg))
			continue;
		found = i;
		if (v[i].prio)
			break;
	}
	return found;
}

static struct device_request *request_at(struct device_past *d, uint64_t sector)
{
	struct device_request *r;

	HASH_FIND(hh, d->requests, &sector, sizeof(sector), r);
	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->sector = sector;
	HASH_ADD(hh, d->requests, sector, sizeof(r->sector), r);
	if (!r->hh.tbl) {
		free(r);
		return NULL;
	}
	return r;
}

/* The sender is who inserted the request: a kernel worker may have issued it. */
static uint32_t request_sender(const struct device_request *r)
{
	return r->inserted ? r->inserted_by : r->issued_by;
}

static uint64_t request_sent(const struct device_request *r)
{
	return r->inserted ?: r->issued;
}

/* The last wake-up of the sender of @r before it sent @r; NO_EVENT: not seen. */
static uint32_t sender_wake(struct why *w, const struct device_request *r)
{
	const struct task_line *l = sched_timeline__task(&w->timeline, request_sender(r));
	size_t i = l ? task_line__at(l, request_sent(r)) + 1 : 0;

	while (l && i-- > 0 && why__may_look(w))
		if (i < l->n && l->v[i].from <= request_sent(r) && l->v[i].wake != NO_EVENT)
			return l->v[i].wake;
	return NO_EVENT;
}

/* Why the sender of a request is not known */
static enum why_missing missing_request(const struct device_past *d)
{
	return d->cut ? MISSING_LIMIT
		      : why__limit_or(d->w, d->several ? MISSING_FLUSH : MISSING_REQUEST);
}

/* Explain the time until @to, when the request that ended the wait was sent. */
static int explain_held(struct device_past *d, uint64_t from, uint64_t to)
{
	struct why *w = d->w;
	const struct device_request *r = &d->own;
	const struct why_key key = {
		.parent = d->n, .tid = d->tid, .type = WHY_HELD, .number = d->dev
	};
	uint32_t wake = sender_wake(w, r), sender = request_sender(r);

	if (w->stacks_cut || w->looks_cut) /* the stack may show a limit */
		return why__add_unknown(w, d->n, d->tid, MISSING_LIMIT, from, to);
	if (wake != NO_EVENT)
		stack_notes__want(&w->notes, wake);
	if (wake != NO_EVENT && stack_notes__of(&w->notes, wake)->limits_io)
		return why_tree__add(w->tree, &key, from, to - from) ? 0 : -ENOMEM;
	if (sender && sender != d->tid)
		return why__explain_task(w, d->n, sender, from, to, d->depth + 1);
	return why__add_unknown(w, d->n, d->tid, MISSING_HELD, from, to);
}

/*
 * Explain time in which the device is not known to have worked on a request. At first, our own
 * request may not have been sent yet.
 */
static int explain_before(struct device_past *d, uint64_t from, uint64_t to)
{
	uint64_t sent = d->own.inserted > from ? d->own.inserted : from;

	sent = sent < to ? sent : to;
	if (sent > from && explain_held(d, from, sent))
		return -ENOMEM;
	/* from `sent` on, our own request was in the queue, or with the device */
	return why__add_unknown(d->w, d->n, d->tid, MISSING_HELD, sent, to);
}

/* Explain the time from d->before, the previous completion, to @time, when request @r completed. */
static int explain_served(struct device_past *d, const struct device_request *r, uint64_t time)
{
	const struct why_key key = { .parent = d->n,
				     .tid = d->tid,
				     .type = WHY_SERVED,
				     .number = d->dev,
				     .who = request_sender(r),
				     .sender = why_behalf__of(d->w, request_sender(r),
							      request_sent(r)) };
	uint64_t begin = d->before, sent = request_sent(r);

	/* the interval ends before our own request was issued */
	if (r->issued > time && r->issued == d->own.issued)
		return explain_before(d, begin, time);
	/* if a search was cut off, it may have been the search for whom the sender works */
	if (!r->issued || r->issued > time || d->w->looks_cut)
		return why__add_unknown(d->w, d->n, d->tid, missing_request(d), begin, time);
	if (sent > begin && sent - begin >= WHY_LONG_NS) {
		if (explain_before(d, begin, sent))
			return -ENOMEM;
		begin = sent;
	}
	return begin >= time || why_tree__add(d->w->tree, &key, begin, time - begin) ? 0 : -ENOMEM;
}

static void request_insert(struct device_request *r, const struct sched_event *e)
{
	if (!r->requeued) { /* if it was requeued, a worker of the kernel inserts it again */
		r->inserted = e->time;
		r->inserted_by = e->tid;
	}
	r->issued = 0;
}

static void request_issue(struct device_request *r, const struct sched_event *e)
{
	if (r->issued) /* a new request at this sector, which was not inserted */
		r->inserted = 0;
	r->several |= r->in_flight++ && !r->sector;
	r->issued = e->time;
	r->issued_by = e->tid;
}

/*
 * The same request is issued once more, maybe by another task. If it was sent before the events
 * begin, its sender is unknown.
 */
static void request_requeue(struct device_request *r, const struct sched_event *e)
{
	if (!r->inserted) {
		r->inserted_by = r->issued ? r->issued_by : 0;
		r->inserted = r->issued ?: e->time;
	}
	r->issued = 0;
	r->requeued = true;
	r->in_flight -= r->in_flight > 0;
}

static void request_complete(struct device_request *r)
{
	r->requeued = false;
	r->in_flight -= r->in_flight > 0;
	r->several &= r->in_flight > 0;
}

static int request_feed(struct device_past *d, uint32_t i)
{
	const struct sched_event *e = &d->w->events.v[i];
	struct device_request *r = request_at(d, e->value);
	uint64_t time = i == d->end || e->time > d->to ? d->to : e->time;
	bool several;
	int err = 0;

	if (!r)
		return -ENOMEM;
	if (e->kind == SCHED_RQ_INSERT) {
		request_insert(r, e);
	} else if (e->kind == SCHED_RQ_ISSUE) {
		request_issue(r, e);
	} else if (e->kind == SCHED_RQ_REQUEUE) {
		request_requeue(r, e);
	} else {
		if (i != d->end && !e->prio)
			return 0;
		several = r->several;
		request_complete(r);
		if (i != d->end && r->issued >= d->own.issued)
			return 0;
		if (time > d->before) {
			d->several |= several && i == d->end;
			err = several ? why__add_unknown(d->w, d->n, d->tid, MISSING_FLUSH,
							 d->before, time)
				      : explain_served(d, r, time);
			d->before = time;
		}
	}
	return err;
}

static bool is_of_request(const struct sched_event *e, uint32_t dev)
{
	return e->arg == dev && (e->kind == SCHED_RQ_INSERT || e->kind == SCHED_RQ_ISSUE ||
				 e->kind == SCHED_RQ_REQUEUE || e->kind == SCHED_RQ_COMPLETE);
}

/* Find when the request that ended the wait was issued last, and when it was sent. */
static void find_own_request(struct device_past *d, uint64_t from)
{
	const struct sched_event *v = d->w->events.v;
	bool again = false;    /* the request was issued before, too */
	bool inserted = false; /* an earlier one at this sector was merged into another request */

	for (uint32_t i = d->end; i-- > d->first && why__may_look(d->w);) {
		const struct sched_event *e = &v[i];

		if (d->own.issued && d->own.inserted < from && v[d->end].value)
			return; /* when exactly does not matter */
		if (!is_of_request(e, d->dev) || e->value != v[d->end].value)
			continue;
		if (e->kind == SCHED_RQ_COMPLETE && !e->prio)
			continue;
		d->several |= e->kind == SCHED_RQ_COMPLETE && !d->own.issued && !e->value;
		if (e->kind == SCHED_RQ_COMPLETE ||
		    (e->kind == SCHED_RQ_REQUEUE && !d->own.issued) ||
		    (e->kind == SCHED_RQ_INSERT && inserted))
			return;
		if (e->kind != SCHED_RQ_ISSUE)
			inserted = e->kind == SCHED_RQ_INSERT;
		if (e->kind == SCHED_RQ_ISSUE) {
			if (d->own.issued && !again) {
				if (!e->value) {
					d->several = true;
					d->own.issued = 0;
				}
				return;
			}
			d->own.issued = d->own.issued ?: e->time;
		}
		again = e->kind == SCHED_RQ_REQUEUE || (again && e->kind != SCHED_RQ_ISSUE);
		d->own.inserted = e->time;
		d->own.inserted_by = e->kind == SCHED_RQ_REQUEUE ? 0 : e->tid;
	}
}

static void requests_free(struct device_past *d)
{
	struct device_request *r, *next;

	HASH_ITER (hh, d->requests, r, next) {
		HASH_DEL(d->requests, r);
		free(r);
	}
}

/* Note for how long the last request was in the queue, and on the device. */
static void note_request(struct device_past *d, const struct sched_event *end)
{
	const struct device_request *r = request_at(d, end->value);

	if (!r || !r->issued || r->issued > end->time)
		return;
	d->n->device_ns = end->time - r->issued;
	d->n->queued_ns = r->inserted && r->issued >= r->inserted ? r->issued - r->inserted : 0;
}

int why_device__explain(struct why *w, struct why_node *n, uint32_t tid, uint32_t wake,
			uint64_t from, uint64_t to, size_t depth)
{
	struct device_past d = {
		.w = w, .n = n, .tid = tid, .before = from, .to = to, .depth = depth
	};
	const struct sched_events *e = &w->events;
	uint32_t i;
	int err = 0;

	if (!e->recorded[SCHED_RQ_ISSUE] || !e->recorded[SCHED_RQ_COMPLETE])
		return why__add_unknown(w, n, tid, MISSING_REQUESTS, from, to);
	d.end = request_end(w, wake);
	if (d.end == NO_EVENT)
		return why__add_unknown(w, n, tid, missing_request(&d), from, to);
	n->several_devices |= n->dev && n->dev != e->v[d.end].arg;
	n->dev = d.dev = e->v[d.end].arg;
	n->sector = e->v[d.end].value;
	n->queued_ns = n->device_ns = 0;
	d.first = sched_events__at(e, from > BACK_NS ? from - BACK_NS : 0);
	d.cut = d.end > BACK_MOST && d.first < d.end - BACK_MOST;
	if (d.cut)
		d.first = d.end - BACK_MOST;
	find_own_request(&d, from);
	if (!d.own.issued)
		return why__add_unknown(w, n, tid, missing_request(&d), from, to);
	for (i = d.first; i <= d.end && !err && why__may_look(w); i++)
		if (is_of_request(&e->v[i], d.dev))
			err = request_feed(&d, i);
	err = err ?: why__add_unknown(w, n, tid, missing_request(&d), d.before, to);
	if (!err && i > d.end && !d.several)
		note_request(&d, &e->v[d.end]);
	requests_free(&d);
	return err;
}
