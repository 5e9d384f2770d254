// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL when memory is out */
#include <uthash.h>

#include "analyse/why/sched_tasks.h"

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

struct sched_task *sched_tasks__find_own(const struct sched_tasks *t, uint32_t own_tid)
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
