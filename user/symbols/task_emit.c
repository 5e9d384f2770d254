// SPDX-License-Identifier: GPL-2.0-only
/* Writes the task model as records. */
#include <string.h>
#include <sys/mman.h>

#include "perfdata/record.h"
#include "symbols/task_model_core.h"

static int emit_map(uint32_t pid, const struct map *map, const struct record_trailer *t,
		    struct buf *out)
{
	const struct build_id *id = map_file__build_id(map->file);
	struct record_mmap2 r = {
		.header.misc = PERF_RECORD_MISC_USER,
		.pid = pid,
		.tid = pid,
		.start = map->start,
		.len = map->end - map->start,
		.pgoff = map->pgoff,
		.prot = map->prot,
		.flags = map->flags,
	};

	if (!(map->prot & PROT_EXEC))
		r.header.misc |= PERF_RECORD_MISC_MMAP_DATA;
	if (id->size) {
		r.header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
		r.build_id_size = id->size;
		memcpy(r.build_id, id->data, id->size);
	} else {
		r.maj = map->file->id.maj;
		r.min = map->file->id.min;
		r.ino = map->file->id.ino;
		r.ino_generation = map->file->id.ino_generation;
	}
	return record__add_mmap2(out, &r, map->file->name, t);
}

static int emit_comm(const struct process *p, uint32_t tid, uint16_t misc,
		     const struct record_trailer *t, struct buf *out)
{
	const struct thread *thread = thread_list__find(&p->threads, tid);

	if (!thread || !thread->comm[0])
		return 0;
	return record__add_comm(out, misc, p->pid, tid, thread->comm, t);
}

static int emit_maps(const struct process *p, const struct record_trailer *t, struct buf *out)
{
	int err = 0;
	uint32_t i;

	for (i = 0; p->maps && i < p->maps->n && !err; i++)
		err = emit_map(p->pid, &p->maps->v[i], t, out);
	return err;
}

int task_model__emit_process(const struct task_model *m, uint32_t pid, const uint32_t *tids,
			     size_t n_tids, uint64_t time, struct buf *out)
{
	const struct process *p = process__find(m, pid);
	const struct record_trailer t = { .pid = pid, .tid = pid, .time = time };
	size_t i;
	int err;

	if (!p)
		return 0;
	err = emit_comm(p, pid, 0, &t, out);
	for (i = 0; i < (tids ? n_tids : p->threads.n) && !err; i++) {
		uint32_t tid = tids ? tids[i] : p->threads.v[i].tid;

		if (tid != pid)
			err = emit_comm(p, tid, 0, &t, out);
	}
	if (!err && p->ns)
		err = record__add_namespaces(out, pid, pid, (const void *)p->ns->v, p->ns->n, &t);
	return err ?: emit_maps(p, &t, out);
}

/* Repair */

static int emit_exits(const struct process *p, uint64_t time, struct buf *out)
{
	const struct thread *t;
	int err;

	FOR_EACH_LIVING(t, &p->threads)
	{
		struct {
			struct record_task task;
			struct record_trailer t;
		} r = {
			.task = {
				.header = { .type = PERF_RECORD_EXIT, .size = sizeof(r) },
				.pid = p->pid,
				.ppid = p->pid,
				.tid = t->tid,
				.ptid = p->pid,
				.time = time,
			},
			.t = { .pid = p->pid, .tid = t->tid, .time = time },
		};

		err = buf__add(out, &r, sizeof(r));
		if (err)
			return err;
	}
	return 0;
}

static bool same_maps(const struct map_list *a, const struct map_list *b)
{
	uint32_t n = a ? a->n : 0, i;

	if (n != (b ? b->n : 0))
		return false;
	for (i = 0; i < n; i++) {
		const struct map *x = &a->v[i], *y = &b->v[i];

		if (x->start != y->start || x->end != y->end || x->pgoff != y->pgoff ||
		    strcmp(x->file->name, y->file->name) != 0)
			return false;
	}
	return true;
}

static bool processes_agree(const struct process *a, const struct process *b)
{
	return thread_list__same(&a->threads, &b->threads) && same_maps(a->maps, b->maps);
}

int task_model__emit_repair(const struct task_model *is, const struct task_model *should,
			    uint32_t pid, uint64_t gone, struct buf *out)
{
	const struct process *p = process__find(is, pid), *to = process__find(should, pid);
	struct record_trailer t = { .pid = pid }; /* tid 0: not written by the task itself */
	uint16_t misc = PERF_RECORD_MISC_COMM_EXEC;
	const struct thread *thread;
	int err = 0;

	if (p && !to)
		return emit_exits(p, gone, out);
	if (!to || !to->threads.n_living || (p && processes_agree(p, to)))
		return 0;
	t.time = to->since;
	/* the leader may have exited, so the COMM of the first living thread has the exec flag */
	FOR_EACH_LIVING(thread, &to->threads)
	{
		err = record__add_comm(out, misc, pid, thread->tid, thread->comm, &t);
		if (err)
			return err;
		misc = 0;
	}
	if (!err && to->ns)
		err = record__add_namespaces(out, pid, pid, (const void *)to->ns->v, to->ns->n, &t);
	return err ?: emit_maps(to, &t, out);
}
