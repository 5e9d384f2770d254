// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* uthash sets hh.tbl to NULL when memory runs out */
#include <uthash.h>

#include "perfdata/record.h"
#include "analyse/replay.h"
#include "symbols/unwind.h"

#define FORK_EXEC   (1 << 13) /* PERF_RECORD_MISC_FORK_EXEC: perf made this record from /proc */
#define KERNEL_TEXT "[kernel.kallsyms]"
#define UNWOUND_MAX 512 /* frames */

struct thread_process {
	UT_hash_handle hh; /* by tid */
	uint32_t tid, pid;
};

struct replay {
	struct perf_file *file;
	struct thread_process *processes; /* owned */
	struct symbols *symbols;	  /* borrowed */
	struct task_model *tasks;
	struct kernel_space kernel;
	uint64_t losses;
};

int replay__open(const char *path, struct symbols *symbols, struct err *err, struct replay **ret)
{
	struct replay *r = calloc(1, sizeof(*r));
	int code;

	if (!r || task_model__new(&r->tasks)) {
		free(r);
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	}
	r->symbols = symbols;
	code = perf_file__open(path, err, &r->file);
	if (code) {
		replay__free(r);
		return code;
	}
	*ret = r;
	return 0;
}

static void processes_free(struct replay *r)
{
	struct thread_process *p, *next;

	HASH_ITER (hh, r->processes, p, next) {
		HASH_DEL(r->processes, p);
		free(p);
	}
}

void replay__free(struct replay *r)
{
	if (!r)
		return;
	processes_free(r);
	task_model__free(r->tasks);
	kernel_space__free(&r->kernel);
	perf_file__free(r->file);
	free(r);
}

uint64_t replay__losses(const struct replay *r)
{
	return r->losses;
}

const struct perf_file *replay__file(const struct replay *r)
{
	return r->file;
}

/* Take the build id from the list in the file if the record had none. */
static void fill_build_id(struct replay *r, const struct map *map)
{
	struct map_file *f = map ? map->file : NULL;

	if (!f || f->asked)
		return;
	f->asked = true;
	if (!map_file__build_id(f)->size)
		perf_file__build_id(r->file, kernel_space__is_text(f->name) ? KERNEL_TEXT : f->name,
				    &f->found);
}

static bool is_kernel(const struct perf_event_header *h)
{
	return h->type == PERF_RECORD_KSYMBOL ||
	       (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
}

static bool is_map(const struct perf_event_header *h)
{
	return h->type == PERF_RECORD_MMAP || h->type == PERF_RECORD_MMAP2;
}

static int process_note(struct replay *r, uint32_t pid, uint32_t tid)
{
	struct thread_process *p;

	HASH_FIND(hh, r->processes, &tid, sizeof(tid), p);
	if (p) {
		p->pid = pid;
		return 0;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->tid = tid;
	p->pid = pid;
	HASH_ADD(hh, r->processes, tid, sizeof(tid), p);
	if (p->hh.tbl)
		return 0;
	free(p);
	return -ENOMEM;
}

uint32_t replay__process(const struct replay *r, uint32_t tid)
{
	struct thread_process *p;

	HASH_FIND(hh, r->processes, &tid, sizeof(tid), p);
	return p ? p->pid : 0;
}

/* Apply a record that names tasks, maps or symbols. */
static int apply_record(struct replay *r, const struct perf_event_header *h)
{
	const struct record_mmap *m = (const void *)h;
	const struct record_task *t = (const void *)h;
	const struct record_comm *c = (const void *)h;
	int err = 0;

	if (h->type == PERF_RECORD_COMM)
		err = process_note(r, c->pid, c->tid);
	else if (h->type == PERF_RECORD_FORK)
		err = process_note(r, t->pid, t->tid);
	if (err)
		return err;
	if (is_kernel(h) && (is_map(h) || h->type == PERF_RECORD_KSYMBOL)) {
		err = kernel_space__apply(&r->kernel, h);
		if (!err && is_map(h))
			fill_build_id(r, kernel_space__find(&r->kernel, m->start));
		return err;
	}
	if (h->type == PERF_RECORD_FORK && h->misc & FORK_EXEC && t->pid != t->ppid)
		return task_model__add_process(r->tasks, t->pid, 0); /* its maps follow */
	err = task_model__apply(r->tasks, h);
	if (!err && is_map(h))
		fill_build_id(r, task_model__find_map(r->tasks, m->pid, m->start));
	return err;
}

/*
 * Did the task in the trailer cause this record, and so run on a CPU? Records made from /proc by
 * perf or frbpf have no time or no tid there.
 */
static bool is_sign_of_life(const struct perf_event_header *h)
{
	switch (h->type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return !(h->misc & PERF_RECORD_MISC_SWITCH_OUT);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return record__time(h) && record__tid(h);
	default:
		return false;
	}
}

int replay__next(struct replay *r, struct err *err, struct sample *ret)
{
	struct file_record rec;
	int code;

	while ((code = perf_file__next(r->file, err, &rec)) > 0) {
		r->losses += rec.h->type == PERF_RECORD_LOST;
		if (rec.h->type == PERF_RECORD_SAMPLE) {
			code = sample__decode(r->file, &rec, err, ret);
			return code ?: 1;
		}
		/* other errors: a process has too many maps; the rest stay unnamed */
		if (apply_record(r, rec.h) == -ENOMEM)
			return err_set(err, -ENOMEM, "out of memory");
		if (rec.event && is_sign_of_life(rec.h)) {
			*ret = (struct sample){ .pid = record__pid(rec.h),
						.tid = record__tid(rec.h),
						.time = record__time(rec.h) };
			return 1;
		}
	}
	return code;
}

const char *replay__comm(const struct replay *r, const struct sample *s)
{
	return s->tid ? task_model__comm(r->tasks, s->pid, s->tid) : "swapper";
}

const char *replay__name(const struct replay *r, uint32_t pid, uint32_t tid)
{
	return task_model__comm(r->tasks, pid, tid);
}

static bool is_kernel_mode(uint8_t cpumode)
{
	return cpumode == PERF_RECORD_MISC_KERNEL;
}

static int resolve_address(struct replay *r, const struct sample *s, uint64_t addr, bool kernel,
			   struct location *ret)
{
	return symbols__resolve(r->symbols, r->tasks, &r->kernel, s->pid, addr, kernel, ret);
}

int replay__self(struct replay *r, const struct sample *s, struct location *ret)
{
	return resolve_address(r, s, s->ip, is_kernel_mode(s->cpumode), ret);
}

/*
 * Handle a PERF_CONTEXT_* mark in a callchain. False: the part is of a guest or a hypervisor, whose
 * frames cannot be resolved.
 */
static bool begin_callchain_part(uint64_t mark, bool *kernel)
{
	switch (mark) {
	case PERF_CONTEXT_KERNEL:
		*kernel = true;
		return true;
	case PERF_CONTEXT_USER:
		*kernel = false;
		return true;
	default:
		return false;
	}
}

/*
 * Unwind user space from its recorded registers and stack, which replace that part of the
 * callchain.
 */
static int unwind_user(struct replay *r, const struct sample *s, struct location *v, size_t max,
		       size_t *n)
{
	const struct unwind_state state = {
		.arch = perf_file__info(r->file)->arch,
		.regs = s->regs,
		.regs_mask = s->regs_mask,
		.stack = s->stack,
		.stack_size = s->stack_size,
	};
	uint64_t ips[UNWOUND_MAX];
	size_t n_ips = unwind__frames(r->symbols, r->tasks, &r->kernel, s->pid, &state, ips,
				      max - *n < UNWOUND_MAX ? max - *n : UNWOUND_MAX);
	int err = 0;

	for (size_t i = 0; i < n_ips && !err; i++)
		err = resolve_address(r, s, ips[i], false, &v[(*n)++]);
	return err;
}

int replay__frames(struct replay *r, const struct sample *s, struct location *v, size_t max,
		   size_t *ret_n)
{
	bool kernel = is_kernel_mode(s->cpumode), first = true, known = true, user = false;
	size_t n = 0, i;
	int err = 0;

	for (i = 0; i < s->n_ips && n < max && !err; i++) {
		uint64_t ip = s->ips[i];

		if (ip >= (uint64_t)PERF_CONTEXT_MAX) {
			known = begin_callchain_part(ip, &kernel);
			first = true;
			continue;
		}
		if (!known || !ip) /* 0: unwinding ended here */
			continue;
		user |= !kernel;
		/* all addresses of a part but the first are return addresses */
		err = resolve_address(r, s, first ? ip : ip - 1, kernel, &v[n++]);
		first = false;
	}
	if (!err && !user && s->stack_size)
		err = unwind_user(r, s, v, max, &n);
	if (!n && !err && max)
		err = resolve_address(r, s, s->ip, is_kernel_mode(s->cpumode), &v[n++]);
	*ret_n = n;
	return err;
}

size_t replay__kernel_addresses(const struct sample *s, uint64_t *v, size_t max)
{
	bool kernel = is_kernel_mode(s->cpumode), first = true, known = true, chain = false;
	size_t n = 0;

	for (size_t i = 0; i < s->n_ips && n < max; i++) {
		uint64_t ip = s->ips[i];

		if (ip >= (uint64_t)PERF_CONTEXT_MAX) {
			known = begin_callchain_part(ip, &kernel);
			first = true;
			continue;
		}
		if (!known || !ip)
			continue;
		if (kernel)
			v[n++] = first ? ip : ip - 1;
		first = false;
		chain = true;
	}
	if (!chain && max && s->ip && is_kernel_mode(s->cpumode))
		v[n++] = s->ip;
	return n;
}

const char *replay__kernel_text(const struct replay *r, uint64_t *ret_addr)
{
	const struct map *text = &r->kernel.text;
	const char *name = text->file ? text->file->name + strlen(KERNEL_TEXT) : "";

	if (!name[0] || !text->pgoff)
		return NULL;
	*ret_addr = text->pgoff;
	return name;
}
