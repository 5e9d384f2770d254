// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump/stack_frames.h"
#include "perfdata/record.h"
#include "sideband/task_model.h"

/* Looks for the maps of one process that frames lie in. */
struct search {
	struct stack_frame *frames;
	size_t n;
	int err;
};

static int name_in_map(uint32_t pid, const struct map *map, void *arg)
{
	struct search *s = arg;

	for (size_t i = 0; i < s->n; i++) {
		struct stack_frame *f = &s->frames[i];

		if (f->address < map->start || f->address >= map->end || f->module)
			continue;
		f->module = strdup(map->file->name);
		if (!f->module)
			return s->err = -ENOMEM;
		f->offset = f->address - map->start + map->pgoff;
	}
	return 0;
}

static struct stack_frame *make_frames(const __u64 *ips, size_t n)
{
	struct stack_frame *v = calloc(n + 1, sizeof(*v));

	for (size_t i = 0; v && i < n; i++)
		v[i].address = ips[i];
	return v;
}

/* The tasks as they were at @time. */
static int replay(const struct sideband_slice *slice, uint64_t time, struct task_model *m)
{
	const char *at = slice->records.data, *end = at + slice->records.len;
	int err = 0;

	while (at < end && !err) {
		const struct perf_event_header *h = (const void *)at;

		if (record__time(h) > time)
			break;
		err = task_model__apply(m, h);
		if (err == -E2BIG)
			err = 0;
		at += h->size;
	}
	return err;
}

static int name_user(struct incident_stacks *s, uint32_t pid, const struct sideband_slice *slice)
{
	struct search search = { .frames = s->user, .n = s->raw.n_user };
	struct task_model *m;
	int err = task_model__new(&m);

	if (err)
		return err;
	err = replay(slice, s->raw.time, m);
	if (!err)
		task_model__each_map(m, pid, name_in_map, &search);
	task_model__free(m);
	return err ?: search.err;
}

static uint32_t subject_of(const struct incident *inc, const struct incident_stacks *s)
{
	for (size_t i = 0; i < inc->n_triggers; i++) {
		if (inc->triggers[i].t.time == s->raw.time && inc->triggers[i].t.cpu == s->raw.cpu)
			return inc->triggers[i].t.subject.pid;
	}
	return 0;
}

int stack_frames__name(struct incident *inc, const struct sideband_slice *slice)
{
	int err = 0;

	for (size_t i = 0; i < inc->n_stacks && !err; i++) {
		struct incident_stacks *s = &inc->stacks[i];

		if (s->kernel)
			continue;
		s->kernel = make_frames(s->raw.kernel, s->raw.n_kernel);
		s->user = make_frames(s->raw.user, s->raw.n_user);
		if (!s->kernel || !s->user)
			return -ENOMEM;
		if (s->raw.n_user)
			err = name_user(s, subject_of(inc, s), slice);
	}
	return err;
}

static void free_frames(struct stack_frame *v, size_t n)
{
	for (size_t i = 0; v && i < n; i++) {
		free(v[i].module);
		free(v[i].symbol);
	}
	free(v);
}

void stack_frames__free(struct incident_stacks *s)
{
	free_frames(s->kernel, s->raw.n_kernel);
	free_frames(s->user, s->raw.n_user);
	s->kernel = s->user = NULL;
}
