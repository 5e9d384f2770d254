// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL when memory is out */
#include <uthash.h>

#include "analyse/offcpu_profile.h"
#include "analyse/replay.h"
#include "analyse/why/sched_events.h"
#include "common/array.h"
#include "common/cleanup.h"
#include "common/format_field.h"

#define FILES_MAX    256
#define HANDLERS_MAX 1024 /* further names are not kept: a machine has fewer */

/* Maps fields of a tracepoint to those of an event; NULL: it has none. */
struct sched_layout {
	const char *name;
	const char *other, *arg, *value;
	const char *prio, *other_prio, *comm, *other_comm, *handler;
};

static const struct sched_layout layouts[SCHED_KINDS] = {
	[SCHED_SWITCH] = { "sched:sched_switch", "next_pid", "prev_state", NULL, "prev_prio",
			   "next_prio", "prev_comm", "next_comm" },
	[SCHED_WAKING] = { "sched:sched_waking", "pid", "target_cpu", NULL, NULL, "prio", NULL,
			   "comm" },
	[SCHED_WAKEUP] = { "sched:sched_wakeup", "pid", "target_cpu", NULL, NULL, "prio", NULL,
			   "comm" },
	[SCHED_NEW] = { "sched:sched_wakeup_new", "pid", "target_cpu", NULL, NULL, "prio", NULL,
			"comm" },
	[SCHED_MIGRATE] = { "sched:sched_migrate_task", "pid", "dest_cpu", NULL, NULL, "prio", NULL,
			    "comm" },
	[SCHED_SIGNAL] = { "signal:signal_generate", "pid", "sig", NULL, "result", NULL, NULL,
			   "comm" },
	[SCHED_IRQ] = { "irq:irq_handler_entry", NULL, "irq", .handler = "name" },
	[SCHED_IRQ_END] = { "irq:irq_handler_exit", NULL, "irq" },
	[SCHED_SOFTIRQ] = { "irq:softirq_entry", NULL, "vec" },
	[SCHED_SOFTIRQ_END] = { "irq:softirq_exit", NULL, "vec" },
	[SCHED_RQ_INSERT] = { "block:block_rq_insert", NULL, "dev", "sector" },
	[SCHED_RQ_ISSUE] = { "block:block_rq_issue", NULL, "dev", "sector" },
	[SCHED_RQ_REQUEUE] = { "block:block_rq_requeue", NULL, "dev", "sector" },
	[SCHED_RQ_COMPLETE] = { "block:block_rq_complete", NULL, "dev", "sector", "nr_sector" },
	[SCHED_RECLAIM] = { "vmscan:mm_vmscan_direct_reclaim_begin", NULL, "order" },
	[SCHED_RECLAIM_END] = { "vmscan:mm_vmscan_direct_reclaim_end", NULL, "nr_reclaimed" },
	[SCHED_CGROUP_RECLAIM] = { "vmscan:mm_vmscan_memcg_reclaim_begin", NULL, "order" },
	[SCHED_CGROUP_RECLAIM_END] = { "vmscan:mm_vmscan_memcg_reclaim_end", NULL, "nr_reclaimed" },
	[SCHED_COMPACTION] = { "compaction:mm_compaction_begin", NULL, "sync" },
	[SCHED_COMPACTION_END] = { "compaction:mm_compaction_end", NULL, "sync" },
	[SCHED_TIMER] = { "timer:hrtimer_expire_entry", NULL, "hrtimer", "function" },
	[SCHED_LOCK] = { "frbpf:lock_wait", "owner", "what", "lock", "spun_ns", "own_owner", NULL,
			 "owner_comm" },
	[SCHED_CPUHP] = { "cpuhp:cpuhp_enter", NULL, "cpu", "idx", "target" },
	[SCHED_INTERRUPT] = { "frbpf:interrupt", NULL, "number", "ns", "soft", .handler = "name" },
};

/* Offsets of the fields in an event of one file */
struct sched_fields {
	enum sched_kind kind;
	struct format_field current, flags, prev, other, arg, value, prio, other_prio, comm,
		other_comm, handler;
	struct format_field gap_start;
};

struct events_adding {
	struct sched_events *e;
	struct replay *r;
	struct sched_fields *fields; /* by number of the event in the file */
	uint32_t samples;
	uint64_t first, last, losses;
	struct err *err;
};

/* ---- tasks ---- */

struct task_entry {
	UT_hash_handle hh;     /* by task.tid */
	UT_hash_handle hh_own; /* by task.own_tid */
	struct sched_task task;
	bool own_known;
};

struct sched_tasks {
	struct task_entry *by_tid, *by_own;
};

int sched_tasks__new(struct sched_tasks **ret)
{
	struct sched_tasks *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*ret = t;
	return 0;
}

void sched_tasks__free(struct sched_tasks *t)
{
	struct task_entry *e, *next;

	if (!t)
		return;
	HASH_CLEAR(hh_own, t->by_own);
	HASH_ITER (hh, t->by_tid, e, next) {
		HASH_DEL(t->by_tid, e);
		free(e);
	}
	free(t);
}

static struct task_entry *task_entry_find(const struct sched_tasks *t, uint32_t tid)
{
	struct task_entry *e;

	HASH_FIND(hh, t->by_tid, &tid, sizeof(tid), e);
	return e;
}

struct sched_task *sched_tasks__find(const struct sched_tasks *t, uint32_t tid)
{
	struct task_entry *e = t ? task_entry_find(t, tid) : NULL;

	return e ? &e->task : NULL;
}

static struct sched_task *sched_tasks__find_own(const struct sched_tasks *t, uint32_t own_tid)
{
	struct task_entry *e = NULL;

	if (t)
		HASH_FIND(hh_own, t->by_own, &own_tid, sizeof(own_tid), e);
	return e ? &e->task : sched_tasks__find(t, own_tid);
}

struct sched_task *sched_tasks__get(struct sched_tasks *t, uint32_t tid)
{
	struct task_entry *e = task_entry_find(t, tid);

	if (e)
		return &e->task;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->task = (struct sched_task){ .tid = tid, .own_tid = tid, .prio = INT32_MIN };
	HASH_ADD(hh, t->by_tid, task.tid, sizeof(tid), e);
	if (e->hh.tbl)
		return &e->task;
	free(e);
	return NULL;
}

int sched_tasks__set_own(struct sched_tasks *t, struct sched_task *task, uint32_t own_tid,
			 uint32_t pid)
{
	struct task_entry *e = task_entry_find(t, task->tid), *there;

	e->task.pid = pid;
	if (e->own_known || !own_tid)
		return 0;
	HASH_FIND(hh_own, t->by_own, &own_tid, sizeof(own_tid), there);
	if (there) /* another task has this tid: that task has ended, or the file is wrong */
		return 0;
	e->task.own_tid = own_tid;
	HASH_ADD(hh_own, t->by_own, task.own_tid, sizeof(own_tid), e);
	if (!e->hh_own.tbl)
		return -ENOMEM;
	e->own_known = true;
	return 0;
}

/* ---- events ---- */

const char *sched_kind__name(enum sched_kind kind)
{
	return kind < SCHED_KINDS ? layouts[kind].name : "cpu-clock";
}

static void field_find(const struct file_format *f, const char *name, struct format_field *ret)
{
	if (name)
		format_field__find(f->text, f->len, name, ret);
}

static bool field_number(const struct format_field *f, const struct sample *s, uint64_t *ret)
{
	return f->size && s->raw && format_field__number(f, s->raw, s->raw_size, ret);
}

static uint64_t number_or_0(const struct format_field *f, const struct sample *s)
{
	uint64_t v;

	return field_number(f, s, &v) ? v : 0;
}

static bool samples_cpu_time(const struct perf_event_attr *a)
{
	if (a->type == PERF_TYPE_SOFTWARE)
		return a->config == PERF_COUNT_SW_CPU_CLOCK ||
		       a->config == PERF_COUNT_SW_TASK_CLOCK;
	return a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_RAW;
}

/* Classify the file's event; SCHED_ALIVE: it only shows that a task ran. */
static void fields_find(struct events_adding *a, const struct file_event *fe,
			struct sched_fields *ret)
{
	const struct file_format *f = NULL;
	const struct sched_layout *l;
	size_t kind = 0;

	ret->kind = SCHED_ALIVE;
	if (fe->attr.type != PERF_TYPE_TRACEPOINT) {
		if (samples_cpu_time(&fe->attr))
			ret->kind = SCHED_SAMPLE;
		else if (offcpu__samples_waits(fe))
			ret->kind = SCHED_OFF_CPU;
		/* context switches, migrations: they do not show that their task runs */
		else if (fe->attr.type == PERF_TYPE_SOFTWARE)
			ret->kind = SCHED_KINDS + 100;
		a->e->samples |= ret->kind == SCHED_SAMPLE;
		a->e->off_cpu_times |= ret->kind == SCHED_OFF_CPU;
		return;
	}
	f = perf_file__format(replay__file(a->r), fe->attr.config);
	if (!f)
		return;
	if (!strcmp(fe->name, "frbpf:gap")) {
		ret->kind = SCHED_GAP;
		field_find(f, "start", &ret->gap_start);
		return;
	}
	field_find(f, "common_pid", &ret->current);
	field_find(f, "common_flags", &ret->flags);
	while (kind < SCHED_KINDS && strcmp(layouts[kind].name, fe->name))
		kind++;
	/* the event lacks some hits, or their times */
	if (kind == SCHED_KINDS || !(fe->attr.sample_type & PERF_SAMPLE_TIME) || fe->attr.freq ||
	    fe->attr.sample_period > 1)
		return;
	l = &layouts[kind];
	field_find(f, l->other, &ret->other);
	field_find(f, l->arg, &ret->arg);
	field_find(f, l->value, &ret->value);
	field_find(f, l->prio, &ret->prio);
	field_find(f, l->other_prio, &ret->other_prio);
	field_find(f, l->comm, &ret->comm);
	field_find(f, l->other_comm, &ret->other_comm);
	field_find(f, l->handler, &ret->handler);
	/* common_pid is usually the same, also in a container, but prev_pid is exact */
	if (kind == SCHED_SWITCH)
		field_find(f, "prev_pid", &ret->current);
	if ((l->other && !ret->other.size) || !ret->arg.size || !ret->current.size)
		return;
	ret->kind = kind;
	a->e->recorded[kind] = true;
	a->e->with_stacks[kind] |= fe->attr.sample_type & PERF_SAMPLE_CALLCHAIN;
}

static int sched_out_of_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static struct sched_event *sched_event_add(struct sched_events *e)
{
	if (!ARRAY_HAS_ROOM(e->v, e->n, e->cap, 4096))
		return NULL;
	e->v[e->n] = (struct sched_event){ 0 };
	return &e->v[e->n++];
}

static void task_name(struct sched_task *t, const struct format_field *f, const struct sample *s)
{
	char comm[SCHED_COMM] = "";

	if (f->size && s->raw && format_field__text(f, s->raw, s->raw_size, comm, sizeof(comm)) &&
	    comm[0])
		memcpy(t->comm, comm, sizeof(t->comm));
}

/* Note the tasks that the event names: current and other. 0 or -ENOMEM. */
static int event_tasks(struct events_adding *a, const struct sched_fields *f,
		       const struct sample *s, const struct sched_event *ev)
{
	struct sched_task *t = sched_tasks__get(a->e->tasks, ev->tid);
	const char *comm;
	int err;

	if (!t)
		return -ENOMEM;
	if (ev->tid && s->tid) {
		err = sched_tasks__set_own(a->e->tasks, t, s->tid, s->pid);
		if (err)
			return err;
	}
	if (ev->kind == SCHED_SWITCH)
		t->prio = ev->prio;
	task_name(t, &f->comm, s);
	if (!t->comm[0] && (comm = replay__comm(a->r, s)))
		strncpy(t->comm, comm, sizeof(t->comm) - 1);
	if (!f->other.size || (ev->kind == SCHED_LOCK && !ev->other))
		return 0;
	t = sched_tasks__get(a->e->tasks, ev->other);
	if (!t)
		return -ENOMEM;
	task_name(t, &f->other_comm, s);
	if (f->other_prio.size && ev->kind != SCHED_LOCK)
		t->prio = ev->other_prio;
	return 0;
}

/* Note the name of the handler. 0 or -ENOMEM. */
static int event_handler(struct sched_events *e, const struct sched_fields *f,
			 const struct sample *s, struct sched_event *ev)
{
	char name[SCHED_HANDLER] = "";
	size_t i = 0;

	if (!f->handler.size || !s->raw ||
	    !format_field__text(&f->handler, s->raw, s->raw_size, name, sizeof(name)) || !name[0])
		return 0;
	while (i < e->n_handlers && strcmp(e->handlers[i], name))
		i++;
	if (i == HANDLERS_MAX)
		return 0;
	if (i == e->n_handlers) {
		if (!ARRAY_HAS_ROOM(e->handlers, e->n_handlers, e->handlers_cap, 16))
			return -ENOMEM;
		memcpy(e->handlers[e->n_handlers++], name, sizeof(name));
	}
	ev->handler = i + 1;
	return 0;
}

static int check_cpu(struct events_adding *a, uint32_t cpu)
{
	if (cpu < SCHED_CPU_MAX)
		return 0;
	return err_set(a->err, -EINVAL, "%s: an event names CPU %u: no machine has that many",
		       perf_file__info(replay__file(a->r))->path, cpu);
}

/* Fill @ev from a known tracepoint. */
static int event_fill(struct events_adding *a, const struct sched_fields *f, const struct sample *s,
		      struct sched_event *ev)
{
	const struct sched_layout *l = &layouts[f->kind];
	uint64_t current, v = 0;

	if (!field_number(&f->current, s, &current) || !field_number(&f->arg, s, &v))
		return 0;
	ev->tid = current;
	ev->arg = v;
	if (l->other) {
		if (!field_number(&f->other, s, &v))
			return 0;
		ev->other = v;
	}
	ev->value = number_or_0(&f->value, s);
	v = number_or_0(&f->prio, s);
	/* a flush; it is issued with sector 0 */
	if (f->kind == SCHED_RQ_COMPLETE && ev->value == UINT64_MAX) {
		ev->value = 0;
		v = 1;
	}
	if (f->kind == SCHED_LOCK)
		v = v / 1000 < INT32_MAX ? v / 1000 : 0;
	ev->prio = v;
	ev->other_prio = number_or_0(&f->other_prio, s);
	ev->flags = number_or_0(&f->flags, s);
	ev->kind = f->kind;
	if ((f->kind == SCHED_MIGRATE || f->kind == SCHED_WAKEUP || f->kind == SCHED_WAKING ||
	     f->kind == SCHED_NEW || f->kind == SCHED_CPUHP) &&
	    check_cpu(a, ev->arg))
		return -EINVAL;
	return 1;
}

static int event_take(struct events_adding *a, const struct sched_fields *f, const struct sample *s,
		      struct sched_event *ev)
{
	const struct sched_task *t;
	uint64_t v;

	if (f->kind < SCHED_KINDS)
		return event_fill(a, f, s, ev);
	if (f->kind == SCHED_GAP) {
		ev->kind = SCHED_GAP;
		ev->value = number_or_0(&f->gap_start, s);
		return ev->value <= ev->time;
	}
	if (f->kind > SCHED_OFF_CPU)
		return 0;
	ev->kind = f->kind;
	if (f->kind == SCHED_OFF_CPU)
		ev->value = s->period;
	if (field_number(&f->current, s, &v)) {
		ev->tid = v;
	} else {
		t = sched_tasks__find_own(a->e->tasks, s->tid);
		ev->tid = t ? t->tid : s->tid;
	}
	return 1;
}

static int sample_add(struct events_adding *a, const struct sample *s)
{
	const struct sched_fields *f;
	struct sched_event ev = { 0 }, *to;
	int err;

	if (!s->event || !s->time)
		return 0;
	f = &a->fields[s->event - perf_file__info(replay__file(a->r))->events];
	/* markers of frbpf do not show that their task ran */
	if (!strncmp(s->event->name, "frbpf:", 6) && f->kind >= SCHED_KINDS && f->kind != SCHED_GAP)
		return 0;
	ev.time = s->time;
	ev.cpu = s->cpu;
	ev.file = a->e->n_files - 1;
	ev.sample = a->samples;
	ev.has_stack = s->n_ips > 0;
	err = check_cpu(a, s->cpu);
	err = err ?: event_take(a, f, s, &ev);
	if (err <= 0)
		return err;
	a->last = s->time > a->last ? s->time : a->last;
	if (ev.kind == SCHED_SWITCH && !a->first)
		a->first = s->time;
	to = sched_event_add(a->e);
	if (!to)
		return sched_out_of_memory(a->err);
	*to = ev;
	if (ev.kind == SCHED_GAP)
		return 0;
	if (event_handler(a->e, f, s, to) || event_tasks(a, f, s, to))
		return sched_out_of_memory(a->err);
	return 0;
}

/* Add a gap if records were lost since the last sample. */
static int gap_add(struct events_adding *a, uint64_t time)
{
	struct sched_event *e;

	if (replay__losses(a->r) == a->losses || !a->last || time < a->last)
		return 0;
	a->losses = replay__losses(a->r);
	e = sched_event_add(a->e);
	if (!e)
		return sched_out_of_memory(a->err);
	e->time = time;
	e->value = a->last;
	e->kind = SCHED_GAP;
	e->file = a->e->n_files - 1;
	return 0;
}

static int samples_add(struct events_adding *a)
{
	const struct file_info *info = perf_file__info(replay__file(a->r));
	struct sample s;
	int err;

	a->fields = calloc(info->n_events ?: 1, sizeof(*a->fields));
	if (!a->fields)
		return sched_out_of_memory(a->err);
	for (size_t i = 0; i < info->n_events; i++)
		fields_find(a, &info->events[i], &a->fields[i]);
	while ((err = replay__next(a->r, a->err, &s)) > 0) {
		err = gap_add(a, s.time) ?: sample_add(a, &s);
		if (err)
			break;
		a->samples += s.event != NULL;
	}
	free(a->fields);
	return err;
}

static int file_note(struct sched_events *e, const char *path)
{
	char **files = reallocarray(e->files, e->n_files + 1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	e->files = files;
	files[e->n_files] = strdup(path);
	if (!files[e->n_files])
		return -ENOMEM;
	e->n_files++;
	return 0;
}

int sched_events__add_file(struct sched_events *e, const char *path, uint64_t since,
			   struct err *err)
{
	struct events_adding a = { .e = e, .err = err };
	int code;

	if (e->n_files == FILES_MAX)
		return err_set(err, -EINVAL, "more than %d recordings", FILES_MAX);
	if ((!e->tasks && sched_tasks__new(&e->tasks)) || file_note(e, path))
		return sched_out_of_memory(err);
	code = replay__open(path, NULL, err, &a.r);
	if (code)
		return code;
	code = samples_add(&a);
	replay__free(a.r);
	if (a.first && since && since < a.first)
		a.first = since;
	if (a.first && (!e->begin || a.first < e->begin))
		e->begin = a.first;
	if (a.last > e->end)
		e->end = a.last;
	return code;
}

static int compare_sched_times(const void *a, const void *b)
{
	const struct sched_event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

void sched_events__sort(struct sched_events *e)
{
	for (size_t i = 1; i < e->n; i++) {
		if (compare_sched_times(&e->v[i - 1], &e->v[i]) > 0) {
			qsort(e->v, e->n, sizeof(*e->v), compare_sched_times);
			break;
		}
	}
}

size_t sched_events__at(const struct sched_events *e, uint64_t time)
{
	return LOWER_BOUND(i, e->n, e->v[i].time < time);
}

const char *sched_events__handler(const struct sched_events *e, const struct sched_event *ev)
{
	return ev->handler ? e->handlers[ev->handler - 1] : NULL;
}

struct sched_task *sched_events__task(const struct sched_events *e, uint32_t tid)
{
	return sched_tasks__find(e->tasks, tid);
}

struct sched_task *sched_events__own_task(const struct sched_events *e, uint32_t own_tid)
{
	return sched_tasks__find_own(e->tasks, own_tid);
}

void sched_events__free(struct sched_events *e)
{
	for (size_t i = 0; i < e->n_files; i++)
		free(e->files[i]);
	free(e->files);
	free(e->handlers);
	free(e->v);
	sched_tasks__free(e->tasks);
	*e = (struct sched_events){ 0 };
}
