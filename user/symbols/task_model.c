// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "symbols/task_model_core.h"

/* ---- threads ---- */

void thread_list__free(struct thread_list *l)
{
	free(l->v);
	*l = (struct thread_list){ 0 };
}

void thread_list__clear(struct thread_list *l)
{
	l->n = l->n_living = 0;
}

/* Index of @tid, or where to insert it. */
static uint32_t thread_index(const struct thread_list *l, uint32_t tid)
{
	if (l->n && l->v[l->n - 1].tid < tid) /* fast path: new threads mostly have rising ids */
		return l->n;
	return LOWER_BOUND(i, l->n, l->v[i].tid < tid);
}

const struct thread *thread_list__find(const struct thread_list *l, uint32_t tid)
{
	uint32_t i = thread_index(l, tid);

	return i < l->n && l->v[i].tid == tid ? &l->v[i] : NULL;
}

static int make_thread_room(struct thread_list *l, uint32_t i)
{
	if (!ARRAY_HAS_ROOM(l->v, l->n, l->cap, 1))
		return -ENOMEM;
	memmove(&l->v[i + 1], &l->v[i], (l->n - i) * sizeof(*l->v));
	l->n++;
	return 0;
}

int thread_list__set(struct thread_list *l, uint32_t tid, const char *comm, size_t len)
{
	uint32_t i = thread_index(l, tid);

	if (len >= TASK_COMM_LEN)
		len = TASK_COMM_LEN - 1;
	if (i == l->n || l->v[i].tid != tid) {
		if (make_thread_room(l, i))
			return -ENOMEM;
		l->n_living++;
	} else if (l->v[i].exited) { /* the id is reused */
		l->n_living++;
	}
	l->v[i] = (struct thread){ .tid = tid };
	memcpy(l->v[i].comm, comm, len);
	return 0;
}

void thread_list__remove(struct thread_list *l, uint32_t tid)
{
	const struct thread *t = thread_list__find(l, tid);
	uint32_t i;

	if (!t)
		return;
	i = t - l->v;
	l->n--;
	l->n_living -= !t->exited;
	memmove(&l->v[i], &l->v[i + 1], (l->n - i) * sizeof(*t));
}

bool thread_list__exit(struct thread_list *l, uint32_t tid, uint64_t time)
{
	const struct thread *t = thread_list__find(l, tid);

	if (!t || t->exited)
		return false;
	l->v[t - l->v].exited = time;
	l->n_living--;
	return true;
}

const struct thread *thread_list__living(const struct thread_list *l, uint32_t i)
{
	for (; i < l->n; i++)
		if (!l->v[i].exited)
			return &l->v[i];
	return NULL;
}

bool thread_list__same(const struct thread_list *a, const struct thread_list *b)
{
	const struct thread *x, *y = thread_list__living(b, 0);

	if (a->n_living != b->n_living)
		return false;
	FOR_EACH_LIVING(x, a)
	{
		if (!y || x->tid != y->tid || strcmp(x->comm, y->comm) != 0)
			return false;
		y = thread_list__living(b, y - b->v + 1);
	}
	return true;
}

int thread_list__copy(const struct thread_list *from, struct thread_list *ret)
{
	struct thread_list l = { .n = from->n, .cap = from->n, .n_living = from->n_living };

	if (l.n) {
		l.v = malloc(l.n * sizeof(*l.v));
		if (!l.v)
			return -ENOMEM;
		memcpy(l.v, from->v, l.n * sizeof(*l.v));
	}
	*ret = l;
	return 0;
}

size_t thread_list__bytes(const struct thread_list *l)
{
	return l->cap * sizeof(*l->v);
}

/* ---- namespaces ---- */

void namespaces__put(struct namespace_pool *pool, struct namespaces *ns)
{
	if (!ns || --ns->refs)
		return;
	HASH_DEL(pool->sets, ns);
	pool->bytes -= sizeof(*ns) + ns->n * sizeof(*ns->v);
	free(ns);
}

int namespaces__get(struct namespace_pool *pool, const uint64_t (*v)[2], size_t n,
		    struct namespaces **ret)
{
	size_t size = n * sizeof(*v);
	struct namespaces *ns;

	HASH_FIND(hh, pool->sets, v, size, ns);
	if (!ns) {
		ns = calloc(1, sizeof(*ns) + size);
		if (!ns)
			return -ENOMEM;
		ns->n = n;
		memcpy(ns->v, v, size);
		HASH_ADD_KEYPTR(hh, pool->sets, ns->v, size, ns);
		if (!ns->hh.tbl) {
			free(ns);
			return -ENOMEM;
		}
		pool->bytes += sizeof(*ns) + size;
	}
	ns->refs++;
	*ret = ns;
	return 0;
}

struct namespaces *namespaces__share(struct namespaces *ns)
{
	if (ns)
		ns->refs++;
	return ns;
}

/* ---- processes ---- */

#define EXITED_KEEP                                                                                \
	2000000000ULL /* ns: a task is still sampled between its EXIT and its last switch */

int task_model__new(struct task_model **ret)
{
	struct task_model *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*ret = m;
	return 0;
}

struct process *process__find(const struct task_model *m, uint32_t pid)
{
	struct process *p;

	HASH_FIND(hh, m->processes, &pid, sizeof(pid), p);
	return p;
}

void process__free(struct task_model *m, struct process *p)
{
	HASH_DEL(m->processes, p);
	map_list__put(p->maps, &m->maps);
	namespaces__put(&m->namespaces, p->ns);
	m->bytes -= sizeof(*p) + thread_list__bytes(&p->threads);
	thread_list__free(&p->threads);
	free(p);
}

int process__new(struct task_model *m, uint32_t pid, uint64_t since, struct process **ret)
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

int process__find_or_new(struct task_model *m, uint32_t pid, struct process **ret)
{
	struct process *p = process__find(m, pid);

	if (!p)
		return process__new(m, pid, 0, ret);
	*ret = p;
	return 0;
}

int process__set_comm(struct task_model *m, struct process *p, uint32_t tid, const char *comm,
		      size_t len)
{
	size_t before = thread_list__bytes(&p->threads);
	int err = thread_list__set(&p->threads, tid, comm, len);

	m->bytes += thread_list__bytes(&p->threads) - before;
	return err;
}

void process__drop_maps(struct task_model *m, struct process *p)
{
	map_list__put(p->maps, &m->maps);
	p->maps = NULL;
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

	return err ?: process__set_comm(m, p, tid, comm, len);
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
	err = namespaces__get(&m->namespaces, dev_ino, n, &ns);
	if (err)
		return err;
	namespaces__put(&m->namespaces, p->ns);
	p->ns = ns;
	return 0;
}

void task_model__remove_process(struct task_model *m, uint32_t pid)
{
	struct process *p = process__find(m, pid);

	if (p)
		process__free(m, p);
}

/* Who has exited */

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

void exits__reap(struct task_model *m, uint64_t now)
{
	struct exits *x = &m->exits;
	const struct thread *t;
	struct process *p;

	while (x->n && x->v[x->first].time + EXITED_KEEP < now) {
		const struct exited *e = &x->v[x->first];

		p = process__find(m, e->pid);
		t = p ? thread_list__find(&p->threads, e->tid) : NULL;
		if (t && t->exited && t->exited <= e->time)
			thread_list__remove(&p->threads, e->tid);
		if (p && !p->threads.n)
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

	if (!p || !thread_list__exit(&p->threads, tid, time))
		return 0;
	if (!p->threads.n_living) /* its maps are gone, but its name is still needed */
		process__drop_maps(m, p);
	return exits__add(m, &e);
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
	if (thread_list__copy(&src->threads, &p->threads))
		goto fail;
	to->bytes += thread_list__bytes(&p->threads);
	if (map_list__copy(src->maps, &to->maps, &p->maps))
		goto fail;
	if (src->ns &&
	    namespaces__get(&to->namespaces, (const void *)src->ns->v, src->ns->n, &p->ns))
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
	return sizeof(*m) + m->bytes + m->maps.bytes + m->namespaces.bytes + m->kernel.bytes;
}

size_t task_model__n_processes(const struct task_model *m)
{
	const struct process *p;
	size_t n = 0;

	for (p = m->processes; p; p = p->hh.next)
		n += p->threads.n_living || !p->threads.n;
	return n;
}

size_t task_model__n_threads(const struct task_model *m, uint32_t pid)
{
	const struct process *p = process__find(m, pid);

	return p ? p->threads.n_living : 0;
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
	int err = 0;

	for (p = m->processes; p && !err; p = p->hh.next)
		err = fn(p->pid, arg);
	return err;
}

int task_model__each_map(const struct task_model *m, uint32_t pid,
			 int (*fn)(uint32_t pid, const struct map *map, void *arg), void *arg)
{
	const struct process *p = process__find(m, pid);
	int err = 0;
	uint32_t i;

	for (i = 0; p && p->maps && i < p->maps->n && !err; i++)
		err = fn(pid, &p->maps->v[i], arg);
	return err;
}

const struct map *task_model__find_map(const struct task_model *m, uint32_t pid, uint64_t addr)
{
	const struct process *p = process__find(m, pid);

	return p ? map_list__find(p->maps, addr) : NULL;
}

const char *task_model__comm(const struct task_model *m, uint32_t pid, uint32_t tid)
{
	const struct process *p = process__find(m, pid);
	const struct thread *t = p ? thread_list__find(&p->threads, tid) : NULL;

	return t && t->comm[0] ? t->comm : NULL;
}
