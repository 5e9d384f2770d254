// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "symbols/thread_list.h"

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
