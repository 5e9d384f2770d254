// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "dump/window/task_set.h"

static int compare_tids(const void *a, const void *b)
{
	const struct sideband_task *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

void task_set__sort(struct task_set *s)
{
	size_t n = 0;

	if (!s->n)
		return;
	qsort(s->v, s->n, sizeof(*s->v), compare_tids);
	for (size_t i = 1; i < s->n; i++) {
		if (compare_tids(&s->v[n], &s->v[i]) != 0)
			s->v[++n] = s->v[i];
	}
	s->n = n + 1;
}

static int grow_tasks(struct task_set *s)
{
	struct sideband_task *v;
	size_t cap;

	if (s->n) /* most are repetitions, and dropping them may make room */
		task_set__sort(s);
	if (s->cap && s->n < s->cap / 2)
		return 0;
	cap = s->cap ? s->cap * 2 : 256;
	v = reallocarray(s->v, cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	s->v = v;
	s->cap = cap;
	return 0;
}

int task_set__add(struct task_set *s, uint32_t pid, uint32_t tid)
{
	int err;

	if (s->n && s->v[s->n - 1].pid == pid && s->v[s->n - 1].tid == tid)
		return 0;
	if (s->n == s->cap) {
		err = grow_tasks(s);
		if (err)
			return err;
	}
	s->v[s->n++] = (struct sideband_task){ .pid = pid, .tid = tid };
	return 0;
}

void task_set__free(struct task_set *s)
{
	free(s->v);
	*s = (struct task_set){ 0 };
}
