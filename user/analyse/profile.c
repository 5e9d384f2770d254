// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/profile.h"
#include "analyse/replay.h"
#include "common/cleanup.h"
#include "symbols/symbols.h"

#define SW_CGROUP_SWITCHES 11	/* PERF_COUNT_SW_CGROUP_SWITCHES, 5.13 */
#define FRAMES_MAX	   1024 /* far more than kernel.perf_event_max_stack allows */

static const char own_events[] = "frbpf:"; /* markers */

/* State while a file is added */
struct adding {
	struct profile *p;
	struct replay *r;
	struct event_profile **events; /* by number of the event in the file; NULL: not seen yet */
	bool *is_switch, *is_wait;
	struct switch_fields fields;
	uint64_t first, last; /* ns; of all samples */
	uint64_t end;	      /* ns; also of samples that do not count */
	struct location frames[FRAMES_MAX];
	uint32_t ids[FRAMES_MAX];
	size_t n_frames;
};

int profile_tables__init(struct profile_tables *t)
{
	int err = symbols__new(&t->symbols) ?:
		  functions__new(&t->functions) ?: stacks__new(&t->stacks);

	if (err)
		profile_tables__free(t);
	return err;
}

void profile_tables__free(struct profile_tables *t)
{
	symbols__free(t->symbols);
	functions__free(t->functions);
	stacks__free(t->stacks);
	*t = (struct profile_tables){ 0 };
}

static bool is_scheduler(const struct function *f)
{
	static const char *const names[] = {
		"__traceiter_sched_switch", "__schedule",	"schedule",
		"preempt_schedule_common",  "schedule_timeout", "schedule_timeout_interruptible",
		"schedule_timeout_idle"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (f->kernel && f->symbol && !strcmp(f->symbol, names[i]))
			return true;
	return false;
}

size_t profile_tables__skip_scheduler(const struct profile_tables *t, const struct stack *s)
{
	size_t i = 0;

	while (i < s->n && is_scheduler(functions__get(t->functions, s->functions[i])))
		i++;
	return i;
}

void profile__init(struct profile *p, struct profile_tables *tables)
{
	*p = (struct profile){ .tables = tables };
}

void profile__free(struct profile *p)
{
	for (size_t i = 0; i < p->n_events; i++) {
		free(p->events[i].name);
		free(p->events[i].functions);
		free(p->events[i].stacks);
	}
	free(p->events);
	free(p->seen);
	offcpu__free(&p->offcpu);
	*p = (struct profile){ 0 };
}

const struct event_profile *profile__event(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->n_events; i++)
		if (!strcmp(p->events[i].name, name))
			return &p->events[i];
	return NULL;
}

struct weight event_profile__weight(const struct event_profile *e, uint32_t function)
{
	return e && function < e->n_functions ? e->functions[function] : (struct weight){ 0 };
}

/* Does the event sample CPU time or work (such as cycles), and not occurrences of an event? */
static bool is_on_cpu(const struct perf_event_attr *a)
{
	switch (a->type) {
	case PERF_TYPE_SOFTWARE:
		return a->config == PERF_COUNT_SW_CPU_CLOCK ||
		       a->config == PERF_COUNT_SW_TASK_CLOCK;
	case PERF_TYPE_TRACEPOINT:
	case PERF_TYPE_BREAKPOINT:
		return false;
	default:
		return true;
	}
}

static int add_event_profile(struct profile *p, const struct file_event *fe)
{
	struct event_profile *v = reallocarray(p->events, p->n_events + 1, sizeof(*v));
	const struct perf_event_attr *a = &fe->attr;

	if (!v)
		return -ENOMEM;
	p->events = v;
	v += p->n_events;
	*v = (struct event_profile){
		.name = strdup(fe->name),
		.clock = a->type == PERF_TYPE_SOFTWARE && (a->config == PERF_COUNT_SW_CPU_CLOCK ||
							   a->config == PERF_COUNT_SW_TASK_CLOCK),
		.callchains = a->sample_type & PERF_SAMPLE_CALLCHAIN,
		.tracepoint = a->type == PERF_TYPE_TRACEPOINT,
		.on_cpu = is_on_cpu(a),
	};
	if (!v->name)
		return -ENOMEM;
	p->n_events++;
	return 0;
}

/*
 * Create all events of the file first, so that pointers stay valid. Events of equal name (one per
 * CPU type) become one.
 */
static int add_events(struct adding *a)
{
	const struct file_info *info = perf_file__info(replay__file(a->r));
	size_t i, k;

	for (i = 0; i < info->n_events; i++)
		if (!profile__event(a->p, info->events[i].name) &&
		    add_event_profile(a->p, &info->events[i]))
			return -ENOMEM;
	for (i = 0; i < info->n_events; i++) {
		const struct file_event *e = &info->events[i];
		const struct file_format *format;

		for (k = 0; strcmp(a->p->events[k].name, e->name); k++)
			;
		a->events[i] = &a->p->events[k];
		a->is_wait[i] = offcpu__samples_waits(e);
		/* the time off CPU adds up only if every switch was recorded, with its time */
		if (e->attr.type != PERF_TYPE_TRACEPOINT || strcmp(e->name, OFFCPU_EVENT) ||
		    !(e->attr.sample_type & PERF_SAMPLE_TIME) || e->attr.freq ||
		    e->attr.sample_period > 1)
			continue;
		format = perf_file__format(replay__file(a->r), e->attr.config);
		a->is_switch[i] =
			format && switch_fields__find(format->text, format->len, &a->fields);
		a->p->switches |= a->is_switch[i];
	}
	return 0;
}

static int grow_table_for_id(void **v, size_t *n, size_t size, uint32_t id)
{
	size_t want = (size_t)id + 1 + id / 2;
	void *new;

	if (id < *n)
		return 0;
	new = reallocarray(*v, want, size);
	if (!new)
		return -ENOMEM;
	memset((char *)new + *n *size, 0, (want - *n) * size);
	*v = new;
	*n = want;
	return 0;
}

/* Count function @id for the current sample, once even if it is in the stack several times. */
static int add_total(struct profile *p, struct event_profile *e, uint32_t id, double period)
{
	if (grow_table_for_id((void **)&p->seen, &p->n_seen, sizeof(*p->seen), id) ||
	    grow_table_for_id((void **)&e->functions, &e->n_functions, sizeof(*e->functions), id))
		return -ENOMEM;
	if (p->seen[id] == p->sample)
		return 0;
	p->seen[id] = p->sample;
	e->functions[id].total += period;
	e->functions[id].total_samples++;
	return 0;
}

static int add_weight(struct adding *a, struct event_profile *e, const struct sample *s)
{
	struct location self;
	uint32_t id;
	size_t i;
	int err;

	if (!++a->p->sample) { /* the numbers wrap after 4 billion samples */
		memset(a->p->seen, 0, a->p->n_seen * sizeof(*a->p->seen));
		a->p->sample = 1;
	}
	err = replay__self(a->r, s, &self) ?: functions__id(a->p->tables->functions, &self, &id);
	if (e->tracepoint && a->n_frames)
		id = a->ids[0];
	err = err ?: add_total(a->p, e, id, s->period);
	if (err)
		return err;
	e->functions[id].self += s->period;
	e->functions[id].self_samples++;
	e->samples++;
	e->weight += s->period;
	for (i = 0; i < a->n_frames && !err; i++)
		err = add_total(a->p, e, a->ids[i], s->period);
	return err;
}

/*
 * The innermost frames of a tracepoint's stack may belong to the tracer, and differ between
 * tracers. Drop them, so that the traced place comes first.
 */
static void drop_tracing(struct adding *a)
{
	size_t n = 0;

	while (n < a->n_frames && a->frames[n].kernel && symbols__is_tracing(a->frames[n].symbol))
		n++;
	if (n == a->n_frames)
		return;
	a->n_frames -= n;
	memmove(a->frames, a->frames + n, a->n_frames * sizeof(*a->frames));
}

/* Find the functions of the sample's stack. */
static int find_frames(struct adding *a, const struct sample *s)
{
	size_t i;
	int err;

	err = replay__frames(a->r, s, a->frames, FRAMES_MAX, &a->n_frames);
	if (!err && s->event && s->event->attr.type == PERF_TYPE_TRACEPOINT)
		drop_tracing(a);
	for (i = 0; i < a->n_frames && !err; i++)
		err = functions__id(a->p->tables->functions, &a->frames[i], &a->ids[i]);
	return err;
}

static int add_stack(struct adding *a, struct event_profile *e, const struct sample *s)
{
	uint32_t id;
	int err;

	if (!a->p->keep_stacks || !e->on_cpu)
		return 0;
	err = stacks__id(a->p->tables->stacks, STACK_ON_CPU, a->ids, a->n_frames, &id)
		      ?: grow_table_for_id((void **)&e->stacks, &e->n_stacks, sizeof(*e->stacks),
					   id);
	if (err)
		return err;
	e->stacks[id].weight += s->period;
	e->stacks[id].samples++;
	return 0;
}

static bool is_skipped(const struct profile *p, uint64_t time)
{
	for (size_t i = 0; i < p->n_skip && p->skip[i].start <= time; i++)
		if (time <= p->skip[i].end)
			return true;
	return false;
}

static int add_switch(struct adding *a, const struct sample *s)
{
	struct task_switch t;
	uint32_t stack;
	int err;

	if (!switch_fields__read(&a->fields, s, &t))
		return 0;
	/* without a stack there is one frame, that of the tracepoint itself */
	err = stacks__id(a->p->tables->stacks, t.state, a->ids, s->n_ips ? a->n_frames : 0, &stack);
	return err ?: offcpu__switch(&a->p->offcpu, &t, stack);
}

/*
 * The kernel counts these events after sched_switch, while the task leaves the CPU. So they do not
 * show that it is back.
 */
static bool is_of_leaving(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE &&
	       (a->config == PERF_COUNT_SW_CONTEXT_SWITCHES || a->config == SW_CGROUP_SWITCHES);
}

/* Give the stack of an offcpu-time sample to the switch-out of its wait, if that has no stack. */
static int add_wait(struct adding *a, const struct sample *s)
{
	uint32_t state,
		*stack = offcpu__stack_of_wait(&a->p->offcpu, s->tid, s->time, s->period, &state);

	if (!stack || stacks__get(a->p->tables->stacks, *stack)->n)
		return 0;
	return stacks__id(a->p->tables->stacks, state, a->ids, a->n_frames, stack);
}

/* Note that a task runs, by a sample of an event other than the switch. */
static void note_ran(struct adding *a, const struct sample *s)
{
	if (!s->event || !is_of_leaving(&s->event->attr))
		offcpu__ran(&a->p->offcpu, s->tid, s->time);
}

/* Update the time off CPU from a sample of event number @event, whose stack is in @a. */
static int note_off_cpu(struct adding *a, const struct sample *s, size_t event)
{
	if (a->is_switch[event])
		return add_switch(a, s);
	if (a->is_wait[event])
		return add_wait(a, s);
	note_ran(a, s);
	return 0;
}

/* A skipped sample does not count, but still shows who is off CPU, and since when. */
static int note_skipped(struct adding *a, const struct sample *s, size_t event)
{
	int err = 0;

	if (a->is_switch[event] || a->is_wait[event])
		err = find_frames(a, s);
	return err ?: note_off_cpu(a, s, event);
}

static int add_profile_sample(struct adding *a, const struct sample *s)
{
	struct event_profile *e;
	bool own;
	size_t i;
	int err;

	if (!s->event) {
		note_ran(a, s);
		return 0;
	}
	i = s->event - perf_file__info(replay__file(a->r))->events;
	e = a->events[i];
	own = !strncmp(e->name, own_events, sizeof(own_events) - 1);
	/* a marker does not count as a sample, but shows that the recording still ran */
	a->end = s->time > a->end ? s->time : a->end;
	if (own) {
		if (a->first && s->time > a->last && !is_skipped(a->p, s->time))
			a->last = s->time;
		return 0;
	}
	if (is_skipped(a->p, s->time))
		return note_skipped(a, s, i);
	if (s->time && (!a->first || s->time < a->first))
		a->first = s->time;
	if (s->time > a->last)
		a->last = s->time;
	err = find_frames(a, s) ?: add_weight(a, e, s) ?: add_stack(a, e, s);
	return err ?: note_off_cpu(a, s, i);
}

static int add_samples(struct adding *a, struct err *err)
{
	struct sample s;
	int code = add_events(a);

	while (!code) {
		code = replay__next(a->r, err, &s);
		if (code < 0)
			return code;
		if (!code)
			break;
		code = add_profile_sample(a, &s);
	}
	code = code ?: offcpu__end(&a->p->offcpu, a->end);
	return code ? err_set(err, code, "out of memory") : 0;
}

int profile__add_file(struct profile *p, const char *path, struct err *err)
{
	struct adding *a = calloc(1, sizeof(*a));
	size_t n;
	int code;

	if (!a)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	a->p = p;
	p->offcpu.skip = p->skip;
	p->offcpu.n_skip = p->n_skip;
	code = replay__open(path, p->tables->symbols, err, &a->r);
	if (code) {
		free(a);
		return code;
	}
	n = perf_file__info(replay__file(a->r))->n_events;
	a->events = calloc(n, sizeof(struct event_profile *));
	a->is_switch = calloc(n, sizeof(*a->is_switch));
	a->is_wait = calloc(n, sizeof(*a->is_wait));
	code = a->events && a->is_switch && a->is_wait
		       ? add_samples(a, err)
		       : err_set(err, -ENOMEM, "%s: out of memory", path);
	p->ns += a->last - a->first;
	p->n_files++;
	replay__free(a->r);
	free(a->events);
	free(a->is_switch);
	free(a->is_wait);
	free(a);
	return code;
}
