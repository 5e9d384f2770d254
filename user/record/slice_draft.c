// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "perfdata/record.h"
#include "record/slice_draft.h"

/* A process that the slice needs: asked for, or because a child inherits its maps. */
struct needed {
	UT_hash_handle hh; /* by pid */
	uint32_t pid;
	bool emit;  /* false: only to know what a child had at the start of the window */
	bool asked; /* its files belong into the table of build ids */
};

struct slice_draft {
	struct task_model *model; /* as of start */
	struct needed *needed;
	const struct sideband_task *tasks; /* borrowed */
	size_t n_tasks;
	uint64_t start;
	struct buf window; /* records of [start, end] */
};

static struct needed *needed__find(const struct slice_draft *d, uint32_t pid)
{
	struct needed *n;

	HASH_FIND(hh, d->needed, &pid, sizeof(pid), n);
	return n;
}

static int needed__add(struct slice_draft *d, uint32_t pid, bool emit, bool asked)
{
	struct needed *n = needed__find(d, pid);

	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n)
			return -ENOMEM;
		n->pid = pid;
		HASH_ADD(hh, d->needed, pid, sizeof(n->pid), n);
		if (!n->hh.tbl) {
			free(n);
			return -ENOMEM;
		}
	}
	n->emit |= emit;
	n->asked |= asked;
	return 0;
}

/* Parents of births, newest first: so that a grandparent is found after its child. */
static int need_parents(struct slice_draft *d, const struct sideband_ref *refs, size_t n)
{
	uint32_t pid, parent;
	int err = 0;

	while (n-- && !err) {
		const struct needed *child;

		if (!task_model__is_birth(refs[n].rec, &parent) ||
		    !task_model__subject(refs[n].rec, &pid))
			continue;
		child = needed__find(d, pid);
		if (child)
			err = needed__add(d, parent, child->emit && refs[n].time >= d->start,
					  false);
	}
	return err;
}

static int copy_needed(struct slice_draft *d, const struct task_model *base)
{
	const struct needed *n;
	int err = task_model__copy_symbols(d->model, base);

	for (n = d->needed; n && !err; n = n->hh.next)
		err = task_model__copy_process(d->model, base, n->pid);
	return err;
}

/* Records before the window go into the model, those in it are kept. */
static int replay(struct slice_draft *d, const struct sideband_ref *refs, size_t n)
{
	const struct needed *needed;
	uint32_t pid;
	int err = 0;
	size_t i;

	for (i = 0; i < n && !err; i++) {
		const struct perf_event_header *rec = refs[i].rec;

		needed = NULL;
		if (task_model__subject(rec, &pid)) {
			needed = needed__find(d, pid);
			if (!needed)
				continue;
		}
		if (refs[i].time < d->start)
			err = task_model__apply(d->model, rec);
		else if (!needed || needed->emit)
			err = buf__add(&d->window, rec, rec->size);
		if (err != -ENOMEM)
			err = 0;
	}
	return err;
}

static int draft__build(struct slice_draft *d, const struct task_model *base,
			const struct sideband_log_view *log, uint64_t end)
{
	struct sideband_ref *refs = NULL;
	size_t n = 0, i;
	int err = 0;

	for (i = 0; i < d->n_tasks && !err; i++)
		if (i == 0 || d->tasks[i].pid != d->tasks[i - 1].pid)
			err = needed__add(d, d->tasks[i].pid, true, true);
	if (!err)
		err = sideband_log_view__sorted(log, 0, end, &refs, &n);
	if (!err)
		err = need_parents(d, refs, n);
	if (!err)
		err = copy_needed(d, base);
	if (!err)
		err = replay(d, refs, n);
	free(refs);
	return err;
}

int slice_draft__new(const struct task_model *base, const struct sideband_log_view *log,
		     const struct sideband_task *tasks, size_t n_tasks, uint64_t start,
		     uint64_t end, struct slice_draft **ret)
{
	struct slice_draft *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->tasks = tasks;
	d->n_tasks = n_tasks;
	d->start = start;
	err = task_model__new(&d->model);
	if (!err)
		err = draft__build(d, base, log, end);
	if (err) {
		slice_draft__free(d);
		return err;
	}
	*ret = d;
	return 0;
}

void slice_draft__free(struct slice_draft *d)
{
	struct needed *n, *next;

	if (!d)
		return;
	HASH_ITER (hh, d->needed, n, next) {
		HASH_DEL(d->needed, n);
		free(n);
	}
	task_model__free(d->model);
	buf__free(&d->window);
	free(d);
}

static const struct perf_event_header *next_record(const struct buf *b, size_t *off)
{
	const struct perf_event_header *h = (const void *)(b->data + *off);

	if (*off >= b->len)
		return NULL;
	*off += h->size;
	return h;
}

int slice_draft__each_bpf_prog(const struct slice_draft *d, int (*fn)(uint32_t id, void *arg),
			       void *arg)
{
	const struct perf_event_header *h;
	size_t off = 0;
	int ret = task_model__each_bpf_prog(d->model, fn, arg);

	while (!ret && (h = next_record(&d->window, &off))) {
		const struct record_bpf_event *r = (const void *)h;

		if (h->type == PERF_RECORD_BPF_EVENT && r->type == PERF_BPF_EVENT_PROG_LOAD)
			ret = fn(r->id, arg);
	}
	return ret;
}

/* The slice's table of build ids while it grows: one per name, the newest. */
struct id_entry {
	UT_hash_handle hh; /* by name */
	struct build_id id;
	char name[];
};

struct finish {
	struct map_build_ids *cache;
	struct id_entry *ids;
	bool asked; /* of the process at hand */
};

static int id_table__add(struct finish *f, const char *name, const struct build_id *id)
{
	size_t len = strlen(name);
	struct id_entry *e;

	if (!id->size || name[0] != '/')
		return 0;
	HASH_FIND(hh, f->ids, name, len, e);
	if (!e) {
		e = calloc(1, sizeof(*e) + len + 1);
		if (!e)
			return -ENOMEM;
		memcpy(e->name, name, len);
		HASH_ADD_KEYPTR(hh, f->ids, e->name, len, e);
		if (!e->hh.tbl) {
			free(e);
			return -ENOMEM;
		}
	}
	e->id = *id;
	return 0;
}

static int identify_map(uint32_t pid, const struct map *map, void *arg)
{
	struct map_file *file = map->file;
	struct finish *f = arg;

	if (!map_file__build_id(file)->size)
		map_build_ids__find(f->cache, pid, map->start, map->end, &file->id, file->name,
				    &file->found);
	return f->asked ? id_table__add(f, file->name, map_file__build_id(file)) : 0;
}

static int identify_record(const struct slice_draft *d, struct finish *f,
			   const struct record_mmap2 *r)
{
	const struct map_file_id file = { .maj = r->maj, .min = r->min, .ino = r->ino };
	const struct needed *n = needed__find(d, r->pid);
	struct build_id id = { 0 };

	if (!n || !n->asked)
		return 0;
	if (r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		id.size = r->build_id_size;
		memcpy(id.data, r->build_id, sizeof(id.data));
	} else if (!map_build_ids__find(f->cache, r->pid, r->start, r->start + r->len, &file,
					r->filename, &id)) {
		return 0;
	}
	return id_table__add(f, r->filename, &id);
}

static int identify_all(const struct slice_draft *d, struct finish *f)
{
	const struct perf_event_header *h;
	const struct needed *n;
	size_t off = 0;
	int err = 0;

	for (n = d->needed; n && !err; n = n->hh.next) {
		f->asked = n->asked;
		if (n->emit)
			err = task_model__each_map(d->model, n->pid, identify_map, f);
	}
	while (!err && (h = next_record(&d->window, &off)))
		if (h->type == PERF_RECORD_MMAP2)
			err = identify_record(d, f, (const void *)h);
	return err;
}

static int slice__add_build_id(struct sideband_slice *s, const struct build_id *id, bool kernel,
			       const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	s->build_ids[s->n_build_ids].id = *id;
	s->build_ids[s->n_build_ids].kernel = kernel;
	s->build_ids[s->n_build_ids++].name = copy;
	return 0;
}

static int make_build_ids(const struct slice_draft *d, struct finish *f, struct sideband_slice *s)
{
	struct build_id kernel;
	const struct id_entry *e;
	int err = identify_all(d, f);

	if (err)
		return err;
	s->build_ids = calloc(HASH_COUNT(f->ids) + 1, sizeof(*s->build_ids));
	if (!s->build_ids)
		return -ENOMEM;
	if (!build_id__read_kernel(&kernel))
		err = slice__add_build_id(s, &kernel, true, "[kernel.kallsyms]");
	for (e = f->ids; e && !err; e = e->hh.next)
		err = slice__add_build_id(s, &e->id, false, e->name);
	return err;
}

/* COMM and MMAP2 of one process, with the threads of it that were asked for. */
static int emit_needed(const struct slice_draft *d, uint32_t pid, struct buf *out)
{
	_cleanup_free_ uint32_t *tids = NULL;
	size_t first = 0, last = d->n_tasks, n = 0;

	while (first < last) { /* the first task that is not of a lower pid */
		size_t mid = first + (last - first) / 2;

		if (d->tasks[mid].pid < pid)
			first = mid + 1;
		else
			last = mid;
	}
	while (first + n < d->n_tasks && d->tasks[first + n].pid == pid)
		n++;
	tids = calloc(n + 1, sizeof(*tids));
	if (!tids)
		return -ENOMEM;
	for (last = 0; last < n; last++)
		tids[last] = d->tasks[first + last].tid;
	return task_model__emit_process(d->model, pid, tids, n, 0, out);
}

/* Give the records of the base state their times: rising, up to just below @start. */
static size_t set_times(struct buf *b, uint64_t start)
{
	const struct perf_event_header *h;
	uint64_t n = 0, time;
	size_t off = 0;

	while (next_record(b, &off))
		n++;
	time = start > n ? start - n : 1;
	off = 0;
	while ((h = next_record(b, &off))) {
		struct record_trailer *t = (void *)(b->data + off - sizeof(*t));

		t->time = time++;
	}
	return n;
}

static int make_records(const struct slice_draft *d, const struct kernel_maps *text,
			const struct kernel_maps *modules, struct sideband_slice *s)
{
	const struct needed *n;
	size_t off = 0;
	int err;

	err = kernel_maps__emit(text, 0, &s->records);
	if (!err)
		err = kernel_maps__emit(modules, 0, &s->records);
	if (!err)
		err = task_model__emit_symbols(d->model, 0, &s->records);
	for (n = d->needed; n && !err; n = n->hh.next)
		if (n->emit)
			err = emit_needed(d, n->pid, &s->records);
	if (err)
		return err;
	s->n_records = set_times(&s->records, d->start);
	while (next_record(&d->window, &off))
		s->n_records++;
	return buf__add(&s->records, d->window.data, d->window.len);
}

int slice_draft__finish(struct slice_draft *d, const struct kernel_maps *text,
			const struct kernel_maps *modules, struct map_build_ids *build_ids,
			struct sideband_slice *s)
{
	struct finish f = { .cache = build_ids };
	struct id_entry *e, *next;
	int err = make_build_ids(d, &f, s);

	HASH_ITER (hh, f.ids, e, next) {
		HASH_DEL(f.ids, e);
		free(e);
	}
	return err ? err : make_records(d, text, modules, s);
}
