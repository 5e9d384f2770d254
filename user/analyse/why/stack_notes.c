// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "analyse/replay.h"
#include "analyse/why/stack_notes.h"
#include "common/array.h"
#include "common/cleanup.h"
#include "symbols/symbols.h"

#define FRAMES_MAX 256

/*
 * Most stacks repeat. A table keeps the notes of known stacks; a new stack replaces the one in its
 * bucket.
 */
#define KNOWN	     512
#define KNOWN_FRAMES 48

static const struct stack_note no_stack;

/* Texts are compared by address, as struct symbols keeps one copy of each. */
struct known_frame {
	const char *symbol, *module;
	bool kernel;
};

struct known_stack {
	struct known_frame frames[KNOWN_FRAMES];
	size_t n; /* 0: free */
	bool in_irq, softirqd;
	struct stack_note note;
};

struct notes_reading {
	struct stack_notes *s;
	struct replay *r;
	struct known_stack known[KNOWN];
	struct location frames[FRAMES_MAX];
	const char *kernel[FRAMES_MAX];
};

void stack_notes__want(struct stack_notes *s, uint32_t i)
{
	struct sched_event *e = &s->events->v[i];

	if ((!e->has_stack && e->kind != SCHED_TIMER) || e->stack || e->file >= s->events->n_files)
		return;
	if (!ARRAY_HAS_ROOM(s->wanted, s->n_wanted, s->wanted_cap, 64)) {
		s->failed = true;
		return;
	}
	s->wanted[s->n_wanted++] = i;
	e->stack = UINT32_MAX; /* wanted, not read yet */
}

const struct stack_note *stack_notes__of(const struct stack_notes *s, uint32_t i)
{
	uint32_t k = s->events->v[i].stack;

	return k && k <= s->n ? &s->v[k - 1] : &no_stack;
}

/* "futex" for "__x64_sys_futex"; NULL: not the function of a system call. */
static const char *traced_call_name(const char *symbol)
{
	static const char *const begin[] = { "__x64_sys_", "__arm64_sys_", "__ia32_sys_",
					     "__do_sys_", "__se_sys_" };

	for (size_t i = 0; i < ARRAY_SIZE(begin); i++)
		if (!strncmp(symbol, begin[i], strlen(begin[i])))
			return symbol + strlen(begin[i]);
	return NULL;
}

/* Is it the C library? Its functions say less than the functions of the program that call them. */
static bool is_libc(const char *module)
{
	return !strncmp(module, "libc.", 5) || !strncmp(module, "libc-", 5) ||
	       !strncmp(module, "ld-", 3) || !strncmp(module, "libpthread", 10) ||
	       !strncmp(module, "ld.", 3) || !strcmp(module, "[vdso]");
}

static void note_frames(struct notes_reading *n, size_t n_frames, bool in_irq, bool softirqd,
			struct stack_note *to)
{
	size_t n_kernel = 0, kernel_frames = 0;
	const char *of_libc = NULL;

	for (size_t i = 0; i < n_frames; i++) {
		const struct location *l = &n->frames[i];

		if (l->kernel) {
			kernel_frames++;
			/* the innermost ones without a name may be trampolines of tracing */
			if (l->symbol ? symbols__is_tracing(l->symbol) : !n_kernel)
				continue;
			n->kernel[n_kernel++] = l->symbol;
			if (l->symbol)
				to->call = traced_call_name(l->symbol) ?: to->call;
		} else if (l->symbol && !to->function) {
			if (!is_libc(l->module))
				to->function = l->symbol;
			else if (!of_libc)
				of_libc = l->symbol;
		}
		if (l->symbol && !to->leaf && !(l->kernel && symbols__is_tracing(l->symbol)))
			to->leaf = l->symbol;
	}
	to->function = to->function ?: of_libc;
	to->named = !kernel_frames || n_kernel;
	to->spins = wait_kind__spins(n->kernel, n_kernel);
	to->limits_io = wait_kind__limits_io(n->kernel, n_kernel);
	to->kind = wait_kind__of(n->kernel, n_kernel, false);
	to->kind_in_lock = wait_kind__of(n->kernel, n_kernel, true);
	to->context = wake_context__of(n->kernel, n_kernel, in_irq, softirqd);
}

/* The bucket of the stack in n->frames, or a free bucket for it */
static struct known_stack *known_place(struct notes_reading *n, size_t n_frames)
{
	uint64_t hash = n_frames;

	for (size_t i = 0; i < n_frames; i++)
		hash = (hash ^ (uintptr_t)n->frames[i].symbol) * 0x9e3779b97f4a7c15;
	return &n->known[(hash >> 32) % KNOWN];
}

static bool is_known(const struct known_stack *k, const struct location *frames, size_t n_frames)
{
	for (size_t i = 0; i < n_frames; i++)
		if (k->frames[i].symbol != frames[i].symbol ||
		    k->frames[i].module != frames[i].module ||
		    k->frames[i].kernel != frames[i].kernel)
			return false;
	return true;
}

/* The note on the stack in n->frames. */
static struct stack_note frames_note(struct notes_reading *n, size_t n_frames, bool in_irq,
				     bool softirqd)
{
	struct known_stack *k = known_place(n, n_frames);
	struct stack_note note = { 0 };

	if (k->n && k->n == n_frames && k->in_irq == in_irq && k->softirqd == softirqd &&
	    is_known(k, n->frames, n_frames))
		return k->note;
	note_frames(n, n_frames, in_irq, softirqd, &note);
	if (n_frames > KNOWN_FRAMES)
		return note;
	k->n = n_frames;
	k->in_irq = in_irq;
	k->softirqd = softirqd;
	k->note = note;
	for (size_t i = 0; i < n_frames; i++)
		k->frames[i] = (struct known_frame){ n->frames[i].symbol, n->frames[i].module,
						     n->frames[i].kernel };
	return note;
}

/* For a timer, its function counts, not the stack of the event. */
static int timer_note_add(struct notes_reading *n, const struct sample *smp, struct sched_event *e)
{
	struct sample at = *smp;

	at.ip = e->value;
	at.cpumode = PERF_RECORD_MISC_KERNEL;
	if (replay__self(n->r, &at, &n->frames[0]))
		return -ENOMEM;
	n->s->v[n->s->n] =
		(struct stack_note){ .leaf = n->frames[0].symbol, .named = n->frames[0].symbol };
	e->stack = ++n->s->n;
	return 0;
}

static int note_add(struct notes_reading *n, const struct sample *smp, struct sched_event *e)
{
	struct stack_notes *s = n->s;
	const struct sched_task *t = sched_events__task(s->events, e->tid);
	size_t n_frames;

	if (!ARRAY_HAS_ROOM(s->v, s->n, s->cap, 64))
		return -ENOMEM;
	if (e->kind == SCHED_TIMER)
		return timer_note_add(n, smp, e);
	if (replay__frames(n->r, smp, n->frames, FRAMES_MAX, &n_frames))
		return -ENOMEM;
	s->v[s->n] = frames_note(n, n_frames, e->flags & (SCHED_HARDIRQ | SCHED_SOFTIRQ_FLAG),
				 t && !strncmp(t->comm, "ksoftirqd/", 10));
	e->stack = ++s->n;
	return 0;
}

/* Read the wanted stacks of one file. *i is the first of them; on return the first after them. */
static int read_noted_file(struct stack_notes *s, uint16_t file, size_t *i, struct err *err)
{
	struct notes_reading *n = calloc(1, sizeof(*n));
	uint32_t number = 0;
	struct sample smp;
	int code;

	if (!n)
		return err_set(err, -ENOMEM, "out of memory");
	n->s = s;
	code = replay__open(s->events->files[file], s->symbols, err, &n->r);
	while (!code && *i < s->n_wanted && s->events->v[s->wanted[*i]].file == file) {
		code = replay__next(n->r, err, &smp);
		if (!code) /* the file was longer at the first reading */
			code = err_set(err, -EINVAL, "%s: it was changed while it was read",
				       s->events->files[file]);
		if (code < 0)
			break;
		code = 0;
		if (!smp.event || number++ != s->events->v[s->wanted[*i]].sample)
			continue;
		if (note_add(n, &smp, &s->events->v[s->wanted[(*i)++]]))
			code = err_set(err, -ENOMEM, "out of memory");
	}
	replay__free(n->r);
	free(n);
	return code;
}

static int by_place(const void *a, const void *b, void *arg)
{
	const struct sched_events *e = arg;
	const struct sched_event *x = &e->v[*(const uint32_t *)a], *y = &e->v[*(const uint32_t *)b];

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

int stack_notes__read(struct stack_notes *s, struct err *err)
{
	size_t i = 0;
	int code = 0;

	if (s->failed || (!s->symbols && symbols__new(&s->symbols)))
		return err_set(err, -ENOMEM, "out of memory");
	if (s->n_wanted)
		qsort_r(s->wanted, s->n_wanted, sizeof(*s->wanted), by_place, s->events);
	while (!code && i < s->n_wanted)
		code = read_noted_file(s, s->events->v[s->wanted[i]].file, &i, err);
	return code;
}

void stack_notes__free(struct stack_notes *s)
{
	free(s->v);
	free(s->wanted);
	symbols__free(s->symbols);
	*s = (struct stack_notes){ 0 };
}
