// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL when memory is out */
#include <uthash.h>

#include "analyse/offcpu_profile.h"
#include "analyse/prev_state.h"

/*
 * The program that writes offcpu-time reads the clock a little later than the event sched_switch.
 */
#define TWIN_NS 100000

struct away {
	UT_hash_handle hh; /* by prev */
	uint32_t prev;	   /* as in the event */
	uint32_t tid;
	uint32_t state, stack;
	uint64_t since; /* ns */
	uint64_t back;	/* ns; 0: not yet. Counted at its next switch: its stack may come later */
	char comm[OFFCPU_COMM];
};

bool offcpu__samples_waits(const struct file_event *fe)
{
	const struct perf_event_attr *a = &fe->attr;
	const uint64_t needs = PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;

	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_BPF_OUTPUT &&
	       (a->sample_type & needs) == needs && !strcmp(fe->name, "offcpu-time");
}

bool switch_fields__find(const char *format, size_t len, struct switch_fields *ret)
{
	struct switch_fields f = { 0 };

	if (!format_field__find(format, len, "prev_pid", &f.prev_pid) ||
	    !format_field__find(format, len, "prev_state", &f.prev_state) ||
	    !format_field__find(format, len, "next_pid", &f.next_pid))
		return false;
	format_field__find(format, len, "prev_comm", &f.prev_comm);
	*ret = f;
	return true;
}

bool switch_fields__read(const struct switch_fields *f, const struct sample *s,
			 struct task_switch *ret)
{
	struct task_switch t = { .time = s->time, .tid = s->tid };
	uint64_t prev, next, state;

	if (!s->raw || !format_field__number(&f->prev_pid, s->raw, s->raw_size, &prev) ||
	    !format_field__number(&f->next_pid, s->raw, s->raw_size, &next) ||
	    !format_field__number(&f->prev_state, s->raw, s->raw_size, &state))
		return false;
	t.prev = prev;
	t.next = next;
	t.state = state;
	format_field__text(&f->prev_comm, s->raw, s->raw_size, t.comm, sizeof(t.comm));
	*ret = t;
	return true;
}

const char *offcpu__state_name(uint32_t state)
{
	static const char *const names[] = { "S", "D", "T", "t", "X", "Z", "P", "I" };

	if (state & PREV_STATE_PREEMPTED)
		return "R+";
	if (!(state & PREV_STATE_BITS))
		return "R";
	return names[__builtin_ctz(state & PREV_STATE_BITS)];
}

bool offcpu__is_end(uint32_t state)
{
	return state & PREV_STATE_ENDED;
}

/*
 * Find the task with most of the time by a majority vote: one candidate and its lead over all
 * others. Right if one task has more than half.
 */
static void vote_for_task(struct offcpu_stack *s, const char *comm, uint64_t ns)
{
	if (!strcmp(s->comm, comm)) {
		s->lead += ns;
	} else if (s->lead > ns) {
		s->lead -= ns;
	} else {
		s->lead = ns - s->lead;
		strcpy(s->comm, comm);
	}
}

/* The part of the time from @since to @until that counts, ns. */
static uint64_t counted_length(const struct offcpu *o, uint64_t since, uint64_t until)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < o->n_skip && since < until; i++) {
		const struct time_range *r = &o->skip[i];

		if (r->start > since)
			ns += (r->start < until ? r->start : until) - since;
		since = r->end > since ? r->end : since;
	}
	return since < until ? ns + (until - since) : ns;
}

static int count_away(struct offcpu *o, const struct away *a, uint64_t until, bool open)
{
	uint64_t ns = counted_length(o, a->since, until);

	if (!ns && o->n_skip)
		return 0;
	if (a->stack >= o->n) {
		size_t n = (size_t)a->stack + 1 + a->stack / 2;
		struct offcpu_stack *v = reallocarray(o->v, n, sizeof(*v));

		if (!v)
			return -ENOMEM;
		memset(v + o->n, 0, (n - o->n) * sizeof(*v));
		o->v = v;
		o->n = n;
	}
	if (__builtin_add_overflow(o->ns, ns, &o->ns)) /* impossible times in the file */
		o->ns = UINT64_MAX;
	if (__builtin_add_overflow(o->v[a->stack].ns, ns, &o->v[a->stack].ns))
		o->v[a->stack].ns = UINT64_MAX;
	if (open)
		o->v[a->stack].open_ns += ns;
	o->v[a->stack].times++;
	vote_for_task(&o->v[a->stack], a->comm, ns);
	return 0;
}

static struct away *find_away(const struct offcpu *o, uint32_t prev)
{
	struct away *a;

	HASH_FIND(hh, o->away, &prev, sizeof(prev), a);
	return a;
}

static void drop_away(struct offcpu *o, struct away *a)
{
	HASH_DEL(o->away, a);
	free(a);
}

/*
 * Get the entry of @prev, which leaves its CPU. Counts its previous time away, if its end is known.
 */
static int renew_away(struct offcpu *o, uint32_t prev, struct away **ret)
{
	struct away *a = find_away(o, prev);

	*ret = a;
	if (a && a->back)
		return count_away(o, a, a->back, false);
	if (a) { /* its return was not seen */
		o->lost++;
		return 0;
	}
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->prev = prev;
	HASH_ADD(hh, o->away, prev, sizeof(a->prev), a);
	if (!a->hh.tbl) {
		free(a);
		return -ENOMEM;
	}
	*ret = a;
	return 0;
}

static int leave_cpu(struct offcpu *o, const struct task_switch *s, uint32_t stack)
{
	struct away *a;
	int err = renew_away(o, s->prev, &a);

	if (err)
		return err;
	if (offcpu__is_end(s->state)) {
		drop_away(o, a);
		return 0;
	}
	a->tid = s->tid;
	a->state = s->state;
	a->stack = stack;
	a->since = s->time;
	a->back = 0;
	memcpy(a->comm, s->comm, sizeof(a->comm));
	return 0;
}

int offcpu__switch(struct offcpu *o, const struct task_switch *s, uint32_t stack)
{
	struct away *next = s->next ? find_away(o, s->next) : NULL;

	if (next && !next->back)
		next->back = s->time;
	return s->prev ? leave_cpu(o, s, stack) : 0;
}

void offcpu__ran(struct offcpu *o, uint32_t tid, uint64_t time)
{
	struct away *a = tid ? find_away(o, tid) : NULL;

	/* in a container the tids of the event differ from those of samples */
	if (!a || a->back || a->tid != tid || time < a->since ||
	    time - a->since < PREV_STATE_SWITCH_NS)
		return;
	a->back = time;
}

uint32_t *offcpu__stack_of_wait(const struct offcpu *o, uint32_t tid, uint64_t time, uint64_t ns,
				uint32_t *ret_state)
{
	struct away *a = tid ? find_away(o, tid) : NULL;
	uint64_t began = time > ns ? time - ns : 0;

	if (!a || a->tid != tid ||
	    (began > a->since ? began - a->since : a->since - began) > TWIN_NS)
		return NULL;
	*ret_state = a->state;
	return &a->stack;
}

int offcpu__end(struct offcpu *o, uint64_t time)
{
	struct away *a, *next;
	int err = 0;

	HASH_ITER (hh, o->away, a, next) {
		err = count_away(o, a, a->back ?: time, !a->back) ?: err;
		drop_away(o, a);
	}
	return err;
}

void offcpu__free(struct offcpu *o)
{
	struct away *a, *next;

	HASH_ITER (hh, o->away, a, next)
		drop_away(o, a);
	free(o->v);
	*o = (struct offcpu){ 0 };
}
