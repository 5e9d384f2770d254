// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "perfdata/record.h"
#include "sideband/task_model.h"

#define NO_PID UINT32_MAX /* the kernel's word for a task that is gone */
#define EXITED_KEEP                                                                                \
	2000000000ULL /* ns: a task is still sampled between its EXIT and its last switch */

struct thread {
	uint64_t exited; /* ns; 0: it lives */
	uint32_t tid;
	char comm[TASK_COMM_LEN]; /* NUL terminated; "": not known */
};

/* Immutable and shared by all processes that live in the same namespaces. */
struct namespaces {
	UT_hash_handle hh; /* by content: v[0..n) */
	uint32_t refs;
	uint32_t n;
	uint64_t v[][2];
};

struct process {
	UT_hash_handle hh; /* by pid */
	uint32_t pid;
	uint32_t n_threads, cap_threads;
	uint32_t n_living;	/* of the threads */
	uint64_t since;		/* records older than this are contained already */
	struct thread *threads; /* by tid; owned */
	struct map_list *maps;	/* shared */
	struct namespaces *ns;	/* shared; NULL: not known */
};

/* Threads in the order of their exits: a ring that grows. */
struct exits {
	struct exited {
		uint64_t time; /* ns */
		uint32_t pid, tid;
	} * v; /* owned */
	size_t first, n, cap;
};

struct task_model {
	struct process *processes;
	struct namespaces *namespaces;
	struct map_pool maps;
	struct kernel_state kernel;
	struct exits exits;
	size_t bytes; /* without those of the parts */
};

int task_model__new(struct task_model **ret)
{
	struct task_model *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*ret = m;
	return 0;
}

static void namespaces__put(struct task_model *m, struct namespaces *ns)
{
	if (!ns || --ns->refs)
		return;
	HASH_DEL(m->namespaces, ns);
	m->bytes -= sizeof(*ns) + ns->n * sizeof(*ns->v);
	free(ns);
}

static int namespaces__get(struct task_model *m, const uint64_t (*v)[2], size_t n,
			   struct namespaces **ret)
{
	size_t size = n * sizeof(*v);
	struct namespaces *ns;

	HASH_FIND(hh, m->namespaces, v, size, ns);
	if (!ns) {
		ns = calloc(1, sizeof(*ns) + size);
		if (!ns)
			return -ENOMEM;
		ns->n = n;
		memcpy(ns->v, v, size);
		HASH_ADD_KEYPTR(hh, m->namespaces, ns->v, size, ns);
		if (!ns->hh.tbl) {
			free(ns);
			return -ENOMEM;
		}
		m->bytes += sizeof(*ns) + size;
	}
	ns->refs++;
	*ret = ns;
	return 0;
}

static struct process *process__find(const struct task_model *m, uint32_t pid)
{
	struct process *p;

	HASH_FIND(hh, m->processes, &pid, sizeof(pid), p);
	return p;
}

static void process__free(struct task_model *m, struct process *p)
{
	HASH_DEL(m->processes, p);
	map_list__put(p->maps, &m->maps);
	namespaces__put(m, p->ns);
	m->bytes -= sizeof(*p) + p->cap_threads * sizeof(*p->threads);
	free(p->threads);
	free(p);
}

static int process__new(struct task_model *m, uint32_t pid, uint64_t since, struct process **ret)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->pid = pid;
	p->since = since;
	HASH_ADD(hh, m->processes, pid, sizeof(p->pid), p);
	if (!p->hh.tbl) {
		free(p);
		return -ENOMEM;
	}
	m->bytes += sizeof(*p);
	*ret = p;
	return 0;
}

static int process__find_or_new(struct task_model *m, uint32_t pid, struct process **ret)
{
	struct process *p = process__find(m, pid);

	if (!p)
		return process__new(m, pid, 0, ret);
	*ret = p;
	return 0;
}

void task_model__free(struct task_model *m)
{
	struct process *p, *next;

	if (!m)
		return;
	HASH_ITER (hh, m->processes, p, next)
		process__free(m, p);
	kernel_state__free(&m->kernel);
	free(m->exits.v);
	free(m);
}

/* Where @tid is, or would be put. */
static uint32_t thread__index(const struct process *p, uint32_t tid)
{
	uint32_t lo = 0, hi = p->n_threads;

	if (hi && p->threads[hi - 1].tid < tid) /* new threads have rising ids, mostly */
		return hi;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (p->threads[mid].tid < tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const struct thread *thread__find(const struct process *p, uint32_t tid)
{
	uint32_t i = thread__index(p, tid);

	return i < p->n_threads && p->threads[i].tid == tid ? &p->threads[i] : NULL;
}

static int thread__set(struct task_model *m, struct process *p, uint32_t tid, const char *comm,
		       size_t len)
{
	uint32_t i = thread__index(p, tid), cap;
	struct thread *t;

	if (len >= TASK_COMM_LEN)
		len = TASK_COMM_LEN - 1;
	if (i == p->n_threads || p->threads[i].tid != tid) {
		if (p->n_threads == p->cap_threads) {
			cap = p->cap_threads ? p->cap_threads * 2 : 1;
			t = reallocarray(p->threads, cap, sizeof(*t));
			if (!t)
				return -ENOMEM;
			m->bytes += (cap - p->cap_threads) * sizeof(*t);
			p->threads = t;
			p->cap_threads = cap;
		}
		t = &p->threads[i];
		memmove(t + 1, t, (p->n_threads - i) * sizeof(*t));
		p->n_threads++;
		p->n_living++;
	} else if (p->threads[i].exited) { /* the id is used again */
		p->n_living++;
	}
	t = &p->threads[i];
	*t = (struct thread){ .tid = tid };
	memcpy(t->comm, comm, len);
	return 0;
}

static void thread__remove(struct process *p, uint32_t tid)
{
	const struct thread *t = thread__find(p, tid);
	uint32_t i;

	if (!t)
		return;
	i = t - p->threads;
	p->n_threads--;
	p->n_living -= !t->exited;
	memmove(&p->threads[i], &p->threads[i + 1], (p->n_threads - i) * sizeof(*t));
}

int task_model__add_process(struct task_model *m, uint32_t pid, uint64_t time)
{
	struct process *p;

	task_model__remove_process(m, pid);
	return process__new(m, pid, time, &p);
}

int task_model__set_comm(struct task_model *m, uint32_t pid, uint32_t tid, const char *comm,
			 size_t len)
{
	struct process *p;
	int err = process__find_or_new(m, pid, &p);

	return err ? err : thread__set(m, p, tid, comm, len);
}

int task_model__add_map(struct task_model *m, uint32_t pid, const struct task_map *map)
{
	struct map v = {
		.start = map->start,
		.pgoff = map->pgoff,
		.prot = map->prot,
		.flags = map->flags,
	};
	struct process *p;
	int err;

	if (__builtin_add_overflow(map->start, map->len, &v.end))
		v.end = UINT64_MAX;
	err = process__find_or_new(m, pid, &p);
	if (err)
		return err;
	err = map_file__get(&m->maps, &map->file, map->name, map->name_len, &v.file);
	if (err)
		return err;
	err = map_list__overlay(&p->maps, &m->maps, &v);
	map_file__put(&m->maps, v.file);
	return err;
}

int task_model__set_namespaces(struct task_model *m, uint32_t pid, const uint64_t (*dev_ino)[2],
			       size_t n)
{
	struct namespaces *ns;
	struct process *p;
	int err = process__find_or_new(m, pid, &p);

	if (err)
		return err;
	err = namespaces__get(m, dev_ino, n, &ns);
	if (err)
		return err;
	namespaces__put(m, p->ns);
	p->ns = ns;
	return 0;
}

void task_model__remove_process(struct task_model *m, uint32_t pid)
{
	struct process *p = process__find(m, pid);

	if (p)
		process__free(m, p);
}

/* Apply */

static int apply_comm(struct task_model *m, const struct perf_event_header *h)
{
	const struct record_comm *r = (const void *)h;
	struct process *p;
	int err = process__find_or_new(m, r->pid, &p);

	if (err)
		return err;
	if (h->misc & PERF_RECORD_MISC_COMM_EXEC) {
		map_list__put(p->maps, &m->maps);
		p->maps = NULL;
		/* an exec ends all other threads, and takes the leader's id */
		p->n_threads = p->n_living = 0;
	}
	return thread__set(m, p, r->tid, r->comm, strlen(r->comm));
}

static int apply_mmap(struct task_model *m, const struct perf_event_header *h)
{
	const struct record_mmap *r = (const void *)h;
	struct task_map map = {
		.start = r->start,
		.len = r->len,
		.pgoff = r->pgoff,
		.name = r->filename,
		.name_len = strlen(r->filename),
	};

	if (h->misc & PERF_RECORD_MISC_MMAP_DATA)
		return 0;
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

	if (h->misc & PERF_RECORD_MISC_MMAP_DATA)
		return 0;
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

	if (r->pid != r->tid) /* kept per process: its leader's */
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
	parent = thread__find(p, r->ptid);
	if (parent)
		memcpy(comm, parent->comm, sizeof(comm));
	return thread__set(m, p, r->tid, comm, strlen(comm));
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
	task_model__remove_process(m, r->pid); /* its EXIT was lost */
	err = process__new(m, r->pid, record__time(h), &p);
	if (err)
		return err;
	parent = process__find(m, r->ppid);
	if (parent) {
		p->maps = map_list__share(parent->maps);
		p->ns = parent->ns;
		if (p->ns)
			p->ns->refs++;
		t = thread__find(parent, r->ptid);
	}
	err = thread__set(m, p, r->tid, t ? t->comm : "", t ? strlen(t->comm) : 0);
	if (err)
		process__free(m, p);
	return err;
}

static int exits__add(struct task_model *m, const struct exited *e)
{
	struct exits *x = &m->exits;
	size_t cap = x->cap ? x->cap * 2 : 64, i;
	struct exited *v;

	if (x->n == x->cap) {
		v = malloc(cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		for (i = 0; i < x->n; i++)
			v[i] = x->v[(x->first + i) % x->cap];
		m->bytes += (cap - x->cap) * sizeof(*v);
		free(x->v);
		x->v = v;
		x->cap = cap;
		x->first = 0;
	}
	x->v[(x->first + x->n++) % x->cap] = *e;
	return 0;
}

/* Forget who exited so long before @now that nothing can name it any more. */
static void exits__reap(struct task_model *m, uint64_t now)
{
	struct exits *x = &m->exits;
	const struct thread *t;
	struct process *p;

	while (x->n && x->v[x->first].time + EXITED_KEEP < now) {
		const struct exited *e = &x->v[x->first];

		p = process__find(m, e->pid);
		t = p ? thread__find(p, e->tid) : NULL;
		if (t && t->exited && t->exited <= e->time)
			thread__remove(p, e->tid);
		if (p && !p->n_threads)
			process__free(m, p);
		x->first = (x->first + 1) % x->cap;
		x->n--;
	}
}

void task_model__forget_exited(struct task_model *m)
{
	exits__reap(m, UINT64_MAX);
	m->bytes -= m->exits.cap * sizeof(*m->exits.v);
	free(m->exits.v);
	m->exits = (struct exits){ 0 };
}

int task_model__exit(struct task_model *m, uint32_t pid, uint32_t tid, uint64_t time)
{
	const struct exited e = { time, pid, tid };
	struct process *p = process__find(m, pid);
	const struct thread *t = p ? thread__find(p, tid) : NULL;

	if (!t || t->exited)
		return 0;
	p->threads[t - p->threads].exited = time;
	if (!--p->n_living) { /* its memory is gone already, its name is still needed */
		map_list__put(p->maps, &m->maps);
		p->maps = NULL;
	}
	return exits__add(m, &e);
}

static int apply_exit(struct task_model *m, const struct perf_event_header *h)
{
	const struct record_task *r = (const void *)h;

	return task_model__exit(m, r->pid, r->tid, record__time(h));
}

/* Of the records whose body begins with a pid. */
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
	if (pid == 0 || pid == NO_PID) /* of another pid namespace, or of the kernel */
		return 0;
	exits__reap(m, record__time(rec));
	p = process__find(m, pid);
	if (p && record__time(rec) < p->since)
		return 0;
	return handlers[rec->type](m, rec);
}

/* Copies and questions */

int task_model__copy_process(struct task_model *to, const struct task_model *from, uint32_t pid)
{
	const struct process *src = process__find(from, pid);
	struct process *p;
	int err;

	task_model__remove_process(to, pid);
	if (!src)
		return 0;
	err = process__new(to, pid, src->since, &p);
	if (err)
		return err;
	if (src->n_threads) {
		p->threads = malloc(src->n_threads * sizeof(*p->threads));
		if (!p->threads)
			goto fail;
		memcpy(p->threads, src->threads, src->n_threads * sizeof(*p->threads));
		p->n_threads = p->cap_threads = src->n_threads;
		p->n_living = src->n_living;
		to->bytes += p->cap_threads * sizeof(*p->threads);
	}
	if (map_list__copy(src->maps, &to->maps, &p->maps))
		goto fail;
	if (src->ns && namespaces__get(to, (const void *)src->ns->v, src->ns->n, &p->ns))
		goto fail;
	return 0;
fail:
	process__free(to, p);
	return -ENOMEM;
}

const struct kernel_state *task_model__kernel(const struct task_model *m)
{
	return &m->kernel;
}

struct kernel_state *task_model__edit_kernel(struct task_model *m)
{
	return &m->kernel;
}

size_t task_model__bytes(const struct task_model *m)
{
	return sizeof(*m) + m->bytes + m->maps.bytes + m->kernel.bytes;
}

size_t task_model__n_processes(const struct task_model *m)
{
	const struct process *p;
	size_t n = 0;

	for (p = m->processes; p; p = p->hh.next)
		n += p->n_living || !p->n_threads;
	return n;
}

size_t task_model__n_threads(const struct task_model *m, uint32_t pid)
{
	const struct process *p = process__find(m, pid);

	return p ? p->n_living : 0;
}

bool task_model__since(const struct task_model *m, uint32_t pid, uint64_t *ret_time)
{
	const struct process *p = process__find(m, pid);

	if (p)
		*ret_time = p->since;
	return p;
}

int task_model__each_process(const struct task_model *m, int (*fn)(uint32_t pid, void *arg),
			     void *arg)
{
	const struct process *p;
	int ret = 0;

	for (p = m->processes; p && !ret; p = p->hh.next)
		ret = fn(p->pid, arg);
	return ret;
}

int task_model__each_map(const struct task_model *m, uint32_t pid,
			 int (*fn)(uint32_t pid, const struct map *map, void *arg), void *arg)
{
	const struct process *p = process__find(m, pid);
	int ret = 0;
	uint32_t i;

	for (i = 0; p && p->maps && i < p->maps->n && !ret; i++)
		ret = fn(pid, &p->maps->v[i], arg);
	return ret;
}

const struct map *task_model__find_map(const struct task_model *m, uint32_t pid, uint64_t addr)
{
	const struct process *p = process__find(m, pid);

	return p ? map_list__find(p->maps, addr) : NULL;
}

const char *task_model__comm(const struct task_model *m, uint32_t pid, uint32_t tid)
{
	const struct process *p = process__find(m, pid);
	const struct thread *t = p ? thread__find(p, tid) : NULL;

	return t && t->comm[0] ? t->comm : NULL;
}

/* Emit */

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
	const struct thread *thread = thread__find(p, tid);

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
	for (i = 0; i < (tids ? n_tids : p->n_threads) && !err; i++) {
		uint32_t tid = tids ? tids[i] : p->threads[i].tid;

		if (tid != pid)
			err = emit_comm(p, tid, 0, &t, out);
	}
	if (!err && p->ns)
		err = record__add_namespaces(out, pid, pid, (const void *)p->ns->v, p->ns->n, &t);
	return err ? err : emit_maps(p, &t, out);
}

/* Repair */

/* The first living thread at or after @i; NULL: none. */
static const struct thread *next_living(const struct process *p, uint32_t i)
{
	for (; i < p->n_threads; i++)
		if (!p->threads[i].exited)
			return &p->threads[i];
	return NULL;
}

#define FOR_EACH_LIVING(t, p)                                                                      \
	for (t = next_living(p, 0); t; t = next_living(p, t - (p)->threads + 1))

static int emit_exits(const struct process *p, uint64_t time, struct buf *out)
{
	const struct thread *t;
	int err;

	FOR_EACH_LIVING(t, p)
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

static bool same_process(const struct process *a, const struct process *b)
{
	const struct thread *x, *y = next_living(b, 0);

	if (a->n_living != b->n_living)
		return false;
	FOR_EACH_LIVING(x, a)
	{
		if (!y || x->tid != y->tid || strcmp(x->comm, y->comm) != 0)
			return false;
		y = next_living(b, y - b->threads + 1);
	}
	return same_maps(a->maps, b->maps);
}

int task_model__emit_repair(const struct task_model *is, const struct task_model *should,
			    uint32_t pid, uint64_t gone, struct buf *out)
{
	const struct process *p = process__find(is, pid), *to = process__find(should, pid);
	struct record_trailer t = { .pid = pid, .tid = pid };
	uint16_t misc = PERF_RECORD_MISC_COMM_EXEC;
	const struct thread *thread;
	int err = 0;

	if (p && !to)
		return emit_exits(p, gone, out);
	if (!to || !to->n_living || (p && same_process(p, to)))
		return 0;
	t.time = to->since;
	/* The leader may have exited: then any thread's COMM has to carry the exec */
	FOR_EACH_LIVING(thread, to)
	{
		err = record__add_comm(out, misc, pid, thread->tid, thread->comm, &t);
		if (err)
			return err;
		misc = 0;
	}
	if (!err && to->ns)
		err = record__add_namespaces(out, pid, pid, (const void *)to->ns->v, to->ns->n, &t);
	return err ? err : emit_maps(to, &t, out);
}
