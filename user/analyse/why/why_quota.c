// SPDX-License-Identifier: GPL-2.0-only
/*
 * Was it a CPU quota (cpu.max) that kept a task off its CPU? Since 6.18 a throttled task leaves the
 * CPU on its return to user space. On a preemptible kernel its stack shows that; on others it looks
 * like the end of deferred work. The task runs again after sched_cfs_period_timer() has refilled
 * the quota of its cgroup.
 */
#include <errno.h>
#include <string.h>

#include "analyse/why/why_impl.h"

enum quota_sign why_quota__sign(const struct why *w, const struct task_span *s)
{
	enum wait_kind kind = WAIT_UNKNOWN;

	if (s->out != NO_EVENT)
		kind = stack_notes__of(&w->notes, s->out)->kind;
	if (kind == WAIT_THROTTLED)
		return QUOTA_USED_UP;
	return kind == WAIT_TASK_WORK && s->to - s->from >= WHY_LONG_NS ? QUOTA_MAYBE
									: QUOTA_NO_SIGN;
}

/* The first event with this timer function: its note has the name. NULL: too many functions. */
static const struct why_timer *timer_of(struct why *w, uint64_t address, uint32_t event)
{
	for (size_t i = 0; i < w->n_timers; i++)
		if (w->timers[i].function == address)
			return &w->timers[i];
	if (w->n_timers == WHY_TIMERS)
		return NULL;
	w->timers[w->n_timers] = (struct why_timer){ address, event };
	return &w->timers[w->n_timers++];
}

static bool gives_quota(struct why *w, uint32_t event)
{
	const struct why_timer *t = timer_of(w, w->events.v[event].value, event);
	const char *name;

	if (!t)
		return false;
	if (w->collecting)
		stack_notes__want(&w->notes, t->event);
	name = stack_notes__of(&w->notes, t->event)->leaf;
	return name &&
	       (!strcmp(name, "sched_cfs_period_timer") || !strcmp(name, "sched_cfs_slack_timer"));
}

bool why_quota__renewed(struct why *w, const struct task_span *s, uint64_t *ret_first,
			uint64_t *ret_last)
{
	const struct sched_events *e = &w->events;
	uint64_t first = 0, last = 0;

	if (!e->recorded[SCHED_TIMER] || s->to - s->from < WHY_LONG_NS)
		return false;
	for (size_t i = sched_events__at(e, s->from); i < e->n && e->v[i].time < s->to; i++) {
		if (e->v[i].kind != SCHED_TIMER || !gives_quota(w, i))
			continue;
		first = first ?: e->v[i].time;
		last = e->v[i].time;
	}
	if (!first)
		return false;
	*ret_first = first;
	*ret_last = last;
	return true;
}

enum why_quota why_quota__of(const struct why *w, uint32_t tid)
{
	const struct sched_task *of = sched_events__task(&w->events, w->q.tid),
				*t = sched_events__task(&w->events, tid);

	if (tid == w->q.tid || (of && t && of->pid && of->pid == t->pid))
		return w->q.quota;
	return WHY_QUOTA_UNKNOWN;
}
