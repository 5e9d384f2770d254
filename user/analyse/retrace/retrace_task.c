// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "analyse/retrace/retrace_impl.h"

#define KNOWN(field) (1U << (field))

static void seen_task_name(char to[static TASK_NAME], const char *name, struct retrace_task *t,
			   enum frbpf_field field)
{
	if (!name)
		return;
	memset(to, 0, TASK_NAME);
	snprintf(to, TASK_NAME, "%s", name);
	t->known |= KNOWN(field);
}

/* pid and tid are those in the recorder's namespace. */
static void task_process(const struct tapped *t, struct retrace_task *task)
{
	if (!task->pid)
		return;
	task->known |= KNOWN(FRBPF_FIELD_PID);
	seen_task_name(task->process, replay__name(t->file->replay, task->pid, task->pid), task,
		       FRBPF_FIELD_PROCESS);
	if (!(task->known & KNOWN(FRBPF_FIELD_COMM)))
		seen_task_name(task->comm, replay__name(t->file->replay, task->pid, task->tid),
			       task, FRBPF_FIELD_COMM);
}

static void task_idle(struct retrace_task *task)
{
	task->known |= KNOWN(FRBPF_FIELD_PID) | KNOWN(FRBPF_FIELD_TID);
	seen_task_name(task->comm, "swapper", task, FRBPF_FIELD_COMM);
	seen_task_name(task->process, "swapper", task, FRBPF_FIELD_PROCESS);
}

void retrace_task__running(const struct tapped *t, struct retrace_task *ret)
{
	struct retrace_task task = { .pid = t->s->pid, .tid = t->s->tid };

	if (!(t->s->event->attr.sample_type & PERF_SAMPLE_TID)) {
		*ret = (struct retrace_task){ 0 };
		return;
	}
	task.known = KNOWN(FRBPF_FIELD_TID);
	if (!task.tid)
		task_idle(&task);
	else
		task_process(t, &task);
	*ret = task;
}

/* Translate the kernel's tid into the recorder's namespace. */
static void task_number(const struct tapped *t, uint32_t number, struct retrace_task *task)
{
	const struct sched_task *known = sched_tasks__find(t->m->tasks, number);

	if (known && known->pid) {
		task->tid = known->own_tid;
		task->pid = known->pid;
	} else if (!t->m->numbers_differ) {
		task->tid = number;
		task->pid = replay__process(t->file->replay, number);
	}
	if (task->tid)
		task->known |= KNOWN(FRBPF_FIELD_TID);
}

void retrace_task__named(const struct tapped *t, uint32_t number, const struct format_field *comm,
			 const struct format_field *prio, struct retrace_task *ret)
{
	struct retrace_task task = { 0 };
	char name[TASK_NAME];
	uint64_t v;

	if (tapped__text(t, comm, name, sizeof(name)))
		seen_task_name(task.comm, name, &task, FRBPF_FIELD_COMM);
	if (tapped__number(t, prio, &v)) {
		task.prio = v;
		task.known |= KNOWN(FRBPF_FIELD_PRIO);
	}
	if (number) {
		task_number(t, number, &task);
		task_process(t, &task);
	} else {
		task.known |= KNOWN(FRBPF_FIELD_PID) | KNOWN(FRBPF_FIELD_TID);
	}
	*ret = task;
}

int retrace_task__note(struct tapped *t)
{
	const struct format_field *f =
		&t->file->events[t->s->event -
				 perf_file__info(replay__file(t->file->replay))->events]
			 .current;
	struct sched_task *task;
	uint64_t v;

	t->current = UINT32_MAX;
	if (!tapped__number(t, f, &v))
		return 0;
	t->current = v;
	if (!t->current || !t->s->tid)
		return 0;
	t->m->numbers_differ |= t->current != t->s->tid;
	task = sched_tasks__get(t->m->tasks, t->current);
	return task ? sched_tasks__set_own(t->m->tasks, task, t->s->tid, t->s->pid) : -ENOMEM;
}
