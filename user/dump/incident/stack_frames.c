// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "dump/incident/stack_frames.h"
#include "dump/incident/user_names.h"
#include "perfdata/record.h"
#include "symbols/symbols.h"
#include "symbols/task_model.h"

/* limit for the number of frames from the BPF helper's to the program's */
#define HELPER_FRAMES_MAX 8

size_t own_frames__count(const struct own_frame *v, size_t n)
{
	size_t i = 0;

	while (i < n && i < HELPER_FRAMES_MAX && !v[i].is_bpf) {
		if (v[i].symbol && !strcmp(v[i].symbol, "__schedule"))
			return 0;
		i++;
	}
	if (i == n || !v[i].is_bpf)
		return 0;
	while (i < n && (v[i].is_bpf || symbols__is_tracing(v[i].symbol)))
		i++;
	return i;
}

#define KERNEL_NAME "[kernel.kallsyms]"

/* The maps of tasks and kernel at one time. */
struct space {
	struct task_model *tasks;
	struct kernel_space kernel;
};

static void space__free(struct space *s)
{
	task_model__free(s->tasks);
	kernel_space__free(&s->kernel);
}

/* Make the maps of the kernel (@kernel) or of the tasks at @time. Free it also on failure. */
static int space__make(const struct sideband_slice *slice, uint64_t time, bool kernel,
		       struct space *ret)
{
	const char *at = slice->records.data, *end = at + slice->records.len;
	int err;

	*ret = (struct space){ 0 };
	err = task_model__new(&ret->tasks);
	while (at < end && !err) {
		const struct perf_event_header *h = (const void *)at;

		if (record__time(h) > time)
			break;
		err = kernel ? kernel_space__apply(&ret->kernel, h)
			     : task_model__apply(ret->tasks, h);
		if (err == -E2BIG)
			err = 0;
		at += h->size;
	}
	return err;
}

static struct stack_frame *make_frames(const __u64 *ips, size_t n)
{
	struct stack_frame *v = calloc(n + 1, sizeof(*v));

	for (size_t i = 0; v && i < n; i++)
		v[i].address = ips[i];
	return v;
}

static void free_frames(struct stack_frame *v, size_t n)
{
	for (size_t i = 0; v && i < n; i++) {
		free(v[i].module);
		free(v[i].symbol);
	}
	free(v);
}

/*
 * The address to look up. All frames but the first have return addresses. If a call is the last
 * instruction of its function, its return address is in the next function.
 */
static uint64_t frame_place(const struct stack_frame *frames, size_t i)
{
	return frames[i].address - (i ? 1 : 0);
}

static int set_symbol(struct stack_frame *f, uint64_t at, const struct location *l)
{
	if (!l->symbol)
		return 0;
	f->symbol = strdup(l->symbol);
	f->symbol_offset = l->symbol_offset + (f->address - at);
	return f->symbol ? 0 : -ENOMEM;
}

/* ---- kernel part ---- */

static int set_kernel_module(struct stack_frame *f, const struct map *map, const char *name)
{
	if (kernel_space__is_text(map->file->name))
		name = KERNEL_NAME;
	f->module = strdup(name);
	f->offset = f->address - map->start;
	return f->module ? 0 : -ENOMEM;
}

static int name_kernel_frame(struct symbols *symbols, const struct space *space,
			     struct stack_frame *frames, size_t i)
{
	uint64_t at = frame_place(frames, i);
	const struct map *map = kernel_space__find(&space->kernel, at);
	struct location l;
	int err;

	if (!map)
		return 0;
	err = symbols__resolve(symbols, space->tasks, &space->kernel, 0, at, true, &l);
	err = err ?: set_kernel_module(&frames[i], map, l.module);
	return err ?: set_symbol(&frames[i], at, &l);
}

static void cut_own_frames(struct incident_stacks *s)
{
	struct own_frame v[FRBPF_STACK_MAX];
	size_t n = s->raw.n_kernel, own;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct own_frame){ s->kernel[i].symbol,
					   s->kernel[i].module &&
						   !strcmp(s->kernel[i].module, "[bpf]") };
	own = own_frames__count(v, n);
	for (size_t i = 0; i < own; i++) {
		free(s->kernel[i].module);
		free(s->kernel[i].symbol);
	}
	s->raw.n_kernel -= own;
	memmove(s->raw.kernel, s->raw.kernel + own, s->raw.n_kernel * sizeof(s->raw.kernel[0]));
	memmove(s->kernel, s->kernel + own, s->raw.n_kernel * sizeof(*s->kernel));
	memset(s->kernel + s->raw.n_kernel, 0, own * sizeof(*s->kernel));
}

static int make_kernel_frames(struct incident_stacks *s)
{
	/* only our programs write that ring, but check the length anyway */
	if (s->raw.n_kernel > FRBPF_STACK_MAX)
		s->raw.n_kernel = FRBPF_STACK_MAX;
	s->kernel = make_frames(s->raw.kernel, s->raw.n_kernel);
	return s->kernel ? 0 : -ENOMEM;
}

static int name_kernel_stacks(struct incident *inc, const struct space *space,
			      struct symbols *symbols, uint64_t unnamed)
{
	int err = 0;
	size_t i, k;

	for (i = 0; i < inc->n_stacks && !err; i++)
		for (k = 0; unnamed >> i & 1 && k < inc->stacks[i].raw.n_kernel && !err; k++)
			err = symbols__expect(symbols, space->tasks, &space->kernel, 0,
					      frame_place(inc->stacks[i].kernel, k), true);
	for (i = 0; i < inc->n_stacks && !err; i++) {
		struct incident_stacks *s = &inc->stacks[i];

		for (k = 0; unnamed >> i & 1 && k < s->raw.n_kernel && !err; k++)
			err = name_kernel_frame(symbols, space, s->kernel, k);
		if (unnamed >> i & 1)
			cut_own_frames(s);
	}
	return err;
}

int stack_frames__name_kernel(struct incident *inc, const struct sideband_slice *slice)
{
	struct symbols *symbols = NULL;
	struct space space = { 0 };
	uint64_t unnamed = 0, last = 0;
	int err = 0;

	for (size_t i = 0; i < inc->n_stacks && !err; i++) {
		struct incident_stacks *s = &inc->stacks[i];

		if (s->kernel)
			continue;
		unnamed |= 1ULL << i;
		last = s->raw.time > last ? s->raw.time : last;
		err = make_kernel_frames(s);
	}
	if (err || !unnamed)
		return err;
	err = space__make(slice, last, true, &space) ?: symbols__new(&symbols);
	err = err ?: name_kernel_stacks(inc, &space, symbols, unnamed);
	symbols__free(symbols);
	space__free(&space);
	return err;
}

/* ---- user part ---- */

/* The stacks that one call of stack_frames__locate_user() names; no other thread uses them. */
struct user_stacks {
	struct incident_stacks *v[INCIDENT_STACKS_MAX];
	uint32_t pid[INCIDENT_STACKS_MAX];
	size_t n;
};

static uint32_t subject_of(const struct incident *inc, const struct incident_stacks *s)
{
	for (size_t i = 0; i < inc->n_triggers; i++) {
		if (inc->triggers[i].t.time == s->raw.time && inc->triggers[i].t.cpu == s->raw.cpu)
			return inc->triggers[i].t.subject.pid;
	}
	return 0;
}

static int claim_stacks(struct incident *inc, struct user_stacks *ret)
{
	int err = 0;

	pthread_mutex_lock(&inc->name_lock);
	for (size_t i = 0; i < inc->n_stacks && !err; i++) {
		struct incident_stacks *s = &inc->stacks[i];

		if (s->user || !s->raw.n_user)
			continue;
		if (s->raw.n_user > FRBPF_STACK_MAX)
			s->raw.n_user = FRBPF_STACK_MAX;
		s->user = make_frames(s->raw.user, s->raw.n_user);
		if (!s->user) {
			err = -ENOMEM;
			continue;
		}
		ret->pid[ret->n] = subject_of(inc, s);
		ret->v[ret->n++] = s;
	}
	pthread_mutex_unlock(&inc->name_lock);
	return err;
}

static int locate_user_frame(const struct space *space, uint32_t pid, size_t stack,
			     struct stack_frame *frames, size_t i, struct user_names **names)
{
	uint64_t at = frame_place(frames, i);
	const struct map *map = task_model__find_map(space->tasks, pid, at);

	if (!map)
		return 0;
	frames[i].module = strdup(map->file->name);
	frames[i].offset = frames[i].address - map->start + map->pgoff;
	if (!frames[i].module)
		return -ENOMEM;
	return user_names__add(names, pid, map, at, stack, i);
}

static int locate_each(const struct incident *inc, const struct user_stacks *u,
		       const struct sideband_slice *slice, struct user_names **names)
{
	int err = 0;

	for (size_t i = 0; i < u->n && !err; i++) {
		struct space space;

		err = space__make(slice, u->v[i]->raw.time, false, &space);
		for (size_t k = 0; k < u->v[i]->raw.n_user && !err; k++)
			err = locate_user_frame(&space, u->pid[i], u->v[i] - inc->stacks,
						u->v[i]->user, k, names);
		space__free(&space);
	}
	return err;
}

int stack_frames__locate_user(struct incident *inc, const struct sideband_slice *slice)
{
	struct user_stacks u = { .n = 0 };
	struct user_names *names = NULL;
	int err = claim_stacks(inc, &u);

	err = err ?: locate_each(inc, &u, slice, &names);
	pthread_mutex_lock(&inc->name_lock);
	user_names__join(&inc->names, names);
	pthread_mutex_unlock(&inc->name_lock);
	return err;
}

int stack_frames__set_user(struct incident *inc, size_t stack, size_t frame, const char *symbol,
			   uint64_t symbol_offset, uint64_t at)
{
	const struct location l = { .symbol = symbol, .symbol_offset = symbol_offset };
	struct incident_stacks *s = &inc->stacks[stack];

	if (stack >= inc->n_stacks || !s->user || frame >= s->raw.n_user || s->user[frame].symbol)
		return 0;
	return set_symbol(&s->user[frame], at, &l);
}

void stack_frames__free(struct incident_stacks *s)
{
	free_frames(s->kernel, s->raw.n_kernel);
	free_frames(s->user, s->raw.n_user);
	s->kernel = s->user = NULL;
}
