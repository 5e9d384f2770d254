// SPDX-License-Identifier: GPL-2.0-only
/* Applies records to the task model. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/cleanup.h"
#include "perfdata/record.h"
#include "symbols/task_model_core.h"

#define NO_PID UINT32_MAX /* the kernel writes it for a task that is gone */

static int apply_comm(struct task_model *m, const struct perf_event_header *h)
{
	const struct record_comm *r = (const void *)h;
	struct process *p;
	int err = process__find_or_new(m, r->pid, &p);

	if (err)
		return err;
	if (h->misc & PERF_RECORD_MISC_COMM_EXEC) {
		process__drop_maps(m, p);
		/* an exec ends all other threads, and takes the leader's id */
		thread_list__clear(&p->threads);
	}
	return process__set_comm(m, p, r->tid, r->comm, strlen(r->comm));
}

static int apply_mmap(struct task_model *m, const struct perf_event_header *h)
{
	const struct record_mmap *r = (const void *)h;
	struct task_map map = {
		.start = r->start,
		.len = r->len,
		.pgoff = r->pgoff,
		.prot = h->misc & PERF_RECORD_MISC_MMAP_DATA ? 0 : PROT_EXEC,
		.name = r->filename,
		.name_len = strlen(r->filename),
	};

	return task_model__add_map(m, r->pid, &map);
}

static int apply_mmap2(struct task_model *m, const struct perf_event_header *h)
{
	const struct record_mmap2 *r = (const void *)h;
	struct task_map map = {
		.start = r->start,
		.len = r->len,
		.pgoff = r->pgoff,
		.prot = r->prot,
		.flags = r->flags,
		.name = r->filename,
		.name_len = strlen(r->filename),
	};

	if (h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		map.file.build_id.size = r->build_id_size;
		memcpy(map.file.build_id.data, r->build_id, r->build_id_size);
	} else {
		map.file.maj = r->maj;
		map.file.min = r->min;
		map.file.ino = r->ino;
		map.file.ino_generation = r->ino_generation;
	}
	return task_model__add_map(m, r->pid, &map);
}

static int apply_namespaces(struct task_model *m, const struct perf_event_header *h)
{
	const struct record_namespaces *r = (const void *)h;

	if (r->pid != r->tid) /* kept per process: those of the leader */
		return 0;
	return task_model__set_namespaces(m, r->pid, (const void *)r->ns, r->nr);
}

static int apply_thread(struct task_model *m, const struct record_task *r)
{
	const struct thread *parent;
	char comm[TASK_COMM_LEN] = "";
	struct process *p;
	int err = process__find_or_new(m, r->pid, &p);

	if (err)
		return err;
	parent = thread_list__find(&p->threads, r->ptid);
	if (parent)
		memcpy(comm, parent->comm, sizeof(comm));
	return process__set_comm(m, p, r->tid, comm, strlen(comm));
}

static int apply_fork(struct task_model *m, const struct perf_event_header *h)
{
	const struct record_task *r = (const void *)h;
	const struct process *parent;
	const struct thread *t = NULL;
	struct process *p;
	int err;

	if (r->pid == r->ppid)
		return apply_thread(m, r);
	task_model__remove_process(m, r->pid); /* if there is one, its EXIT was lost */
	err = process__new(m, r->pid, record__time(h), &p);
	if (err)
		return err;
	parent = process__find(m, r->ppid);
	if (parent) {
		p->maps = map_list__share(parent->maps);
		p->ns = namespaces__share(parent->ns);
		t = thread_list__find(&parent->threads, r->ptid);
	}
	err = process__set_comm(m, p, r->tid, t ? t->comm : "", t ? strlen(t->comm) : 0);
	if (err)
		process__free(m, p);
	return err;
}

static int apply_exit(struct task_model *m, const struct perf_event_header *h)
{
	const struct record_task *r = (const void *)h;

	return task_model__exit(m, r->pid, r->tid, record__time(h));
}

/* For the records whose body begins with a pid. */
static int (*const handlers[])(struct task_model *m, const struct perf_event_header *h) = {
	[PERF_RECORD_MMAP] = apply_mmap,   [PERF_RECORD_COMM] = apply_comm,
	[PERF_RECORD_EXIT] = apply_exit,   [PERF_RECORD_FORK] = apply_fork,
	[PERF_RECORD_MMAP2] = apply_mmap2, [PERF_RECORD_NAMESPACES] = apply_namespaces,
};

bool task_model__subject(const struct perf_event_header *rec, uint32_t *ret_pid)
{
	if (rec->type >= ARRAY_SIZE(handlers) || !handlers[rec->type])
		return false;
	*ret_pid = ((const struct record_comm *)rec)->pid;
	return true;
}

bool task_model__is_birth(const struct perf_event_header *rec, uint32_t *ret_parent)
{
	const struct record_task *r = (const void *)rec;

	if (rec->type != PERF_RECORD_FORK || r->pid == r->ppid)
		return false;
	*ret_parent = r->ppid;
	return true;
}

int task_model__apply(struct task_model *m, const struct perf_event_header *rec)
{
	const struct process *p;
	uint32_t pid;

	if (!task_model__subject(rec, &pid))
		return kernel_state__apply(&m->kernel, rec);
	if (pid == 0 || pid == NO_PID) /* of another pid namespace, or the kernel */
		return 0;
	exits__reap(m, record__time(rec));
	p = process__find(m, pid);
	if (p && record__time(rec) < p->since)
		return 0;
	return handlers[rec->type](m, rec);
}
