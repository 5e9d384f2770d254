// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "perfdata/record.h"
#include "sideband/ksymbol_cover.h"
#include "sideband/slice_draft.h"

/* ns, to read all build ids that are still unknown: the dump must not hang with a file system */
#define FILES_WAIT 500000000ULL

/* A process that the slice needs: requested, or its maps are inherited by a needed child. */
struct needed {
	UT_hash_handle hh; /* by pid */
	uint32_t pid;
	bool emit; /* false: it is not written, but a child inherits from it */
	/* Processes related by forks in the window form a family. A page that one of them hit may
	 * be in a map that it inherited from another. The root's pid identifies the family. */
	struct needed *parent; /* NULL: the root */
};

struct slice_draft {
	struct task_model *model; /* as of start */
	struct needed *needed;
	const struct sideband_request *req; /* borrowed */
	bool all;
	struct sideband_page *pages; /* owned: those of the request, with the family as pid */
	struct buf window;	     /* records of [start, end] */
};

static struct needed *needed__find(const struct slice_draft *d, uint32_t pid)
{
	struct needed *n;

	HASH_FIND(hh, d->needed, &pid, sizeof(pid), n);
	return n;
}

static int needed__add(struct slice_draft *d, uint32_t pid, bool emit)
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
	return 0;
}

static struct needed *family_of(struct needed *n)
{
	while (n->parent) {
		if (n->parent->parent)
			n->parent = n->parent->parent;
		n = n->parent;
	}
	return n;
}

static void join_families(struct needed *child, struct needed *parent)
{
	child = family_of(child);
	parent = family_of(parent);
	if (child != parent)
		child->parent = parent;
}

/* Add the parents of needed processes, the newest fork first, so that grandparents are found. */
static int need_parents(struct slice_draft *d, const struct sideband_ref *refs, size_t n)
{
	uint32_t pid, parent;
	int err = 0;

	while (n-- && !err) {
		struct needed *child;
		bool inside;

		if (!task_model__is_birth(refs[n].rec, &parent) ||
		    !task_model__subject(refs[n].rec, &pid))
			continue;
		child = needed__find(d, pid);
		if (!child)
			continue;
		inside = child->emit && refs[n].time >= d->req->start;
		err = needed__add(d, parent, inside);
		if (!err && inside)
			join_families(child, needed__find(d, parent));
	}
	return err;
}

static int need_process(uint32_t pid, void *arg)
{
	return needed__add(arg, pid, true);
}

/* Adds the requested processes, or all. */
static int need_tasks(struct slice_draft *d, const struct task_model *base,
		      const struct sideband_ref *refs, size_t n)
{
	const struct sideband_request *req = d->req;
	uint32_t pid;
	size_t i;
	int err = 0;

	for (i = 0; i < req->n_tasks && !err; i++)
		if (i == 0 || req->tasks[i].pid != req->tasks[i - 1].pid)
			err = needed__add(d, req->tasks[i].pid, true);
	if (!d->all)
		return err;
	for (i = 0; i < n && !err; i++)
		if (task_model__subject(refs[i].rec, &pid))
			err = needed__add(d, pid, true);
	return err ?: task_model__each_process(base, need_process, d);
}

static int copy_needed_tasks(struct slice_draft *d, const struct task_model *base)
{
	const struct needed *n;
	int err = kernel_state__copy(task_model__edit_kernel(d->model), task_model__kernel(base));

	for (n = d->needed; n && !err; n = n->hh.next)
		err = task_model__copy_process(d->model, base, n->pid);
	return err;
}

/* Apply records before the window to the model, and copy those in it. */
static int replay_records(struct slice_draft *d, const struct sideband_ref *refs, size_t n)
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
		if (refs[i].time < d->req->start)
			err = task_model__apply(d->model, rec);
		else if (!needed || needed->emit)
			err = buf__add(&d->window, rec, rec->size);
		if (err != -ENOMEM)
			err = 0;
	}
	return err;
}

static int sort_pages(struct slice_draft *d)
{
	const struct sideband_request *req = d->req;
	struct needed *n;
	size_t i;

	d->pages = calloc(req->n_pages + 1, sizeof(*d->pages));
	if (!d->pages)
		return -ENOMEM;
	for (i = 0; i < req->n_pages; i++) {
		n = needed__find(d, req->pages[i].pid);
		d->pages[i] = req->pages[i];
		if (n)
			d->pages[i].pid = family_of(n)->pid;
	}
	qsort(d->pages, req->n_pages, sizeof(*d->pages), sideband_page__compare);
	return 0;
}

/* Did @family, which may be SIDEBAND_KERNEL, hit a page in [start, end)? */
static bool map_was_hit(const struct slice_draft *d, uint32_t family, uint64_t start, uint64_t end)
{
	const struct sideband_page key = { family, start >> SIDEBAND_PAGE_SHIFT };
	size_t first = 0, last = d->req->n_pages;

	if (d->req->all_files)
		return true;
	while (first < last) { /* the first page that is not below the map */
		size_t mid = first + (last - first) / 2;

		if (sideband_page__compare(&d->pages[mid], &key) < 0)
			first = mid + 1;
		else
			last = mid;
	}
	return first < d->req->n_pages && d->pages[first].pid == family &&
	       d->pages[first].page <= (end - 1) >> SIDEBAND_PAGE_SHIFT;
}

static int draft__build(struct slice_draft *d, const struct task_model *base,
			const struct sideband_log_view *log)
{
	struct sideband_ref *refs = NULL;
	size_t n = 0;
	int err = sideband_log_view__sorted(log, 0, d->req->end, &refs, &n);

	err = err ?: need_tasks(d, base, refs, n);
	err = err ?: need_parents(d, refs, n);
	err = err ?: sort_pages(d);
	err = err ?: copy_needed_tasks(d, base);
	err = err ?: replay_records(d, refs, n);
	free(refs);
	return err;
}

int slice_draft__new(const struct task_model *base, const struct sideband_log_view *log,
		     const struct sideband_request *req, bool all, struct slice_draft **ret)
{
	struct slice_draft *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->req = req;
	d->all = all;
	err = task_model__new(&d->model);
	err = err ?: draft__build(d, base, log);
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
	free(d->pages);
	free(d);
}

int slice_draft__each_bpf_prog(const struct slice_draft *d, int (*fn)(uint32_t id, void *arg),
			       void *arg)
{
	const struct perf_event_header *h;
	size_t off = 0;
	int err = kernel_state__each_bpf_prog(task_model__kernel(d->model), fn, arg);

	while (!err && (h = record__next(&d->window, &off))) {
		const struct record_bpf_event *r = (const void *)h;

		if (h->type == PERF_RECORD_BPF_EVENT && r->type == PERF_BPF_EVENT_PROG_LOAD)
			err = fn(r->id, arg);
	}
	return err;
}

/* An entry of the slice's table of build ids, while it grows. Per name, the newest id wins. */
struct id_entry {
	UT_hash_handle hh; /* by name */
	struct build_id id;
	bool kernel;
	char name[];
};

struct finish {
	const struct slice_draft *d;
	struct map_build_ids *cache;
	uint64_t deadline; /* ns: for all requests to the cache */
	struct id_entry *ids;
	uint32_t family; /* of the current process */
};

static int id_table__add(struct finish *f, bool kernel, const char *name, const struct build_id *id)
{
	size_t len = strlen(name);
	struct id_entry *e;

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
	e->kernel = kernel;
	e->id = *id;
	return 0;
}

/*
 * Add the build id of a file with hit pages; size 0: unknown. The vDSO is left out. If [vdso] has
 * an id, perf looks for the image only in perf's build id cache; else perf takes the image of the
 * kernel.
 */
static int add_hit_file(struct finish *f, const char *name, const struct build_id *id)
{
	return id->size && name[0] == '/' ? id_table__add(f, false, name, id) : 0;
}

static int identify_map(uint32_t pid, const struct map *map, void *arg)
{
	struct map_file *file = map->file;
	struct finish *f = arg;

	if (!(map->prot & PROT_EXEC) || !map_was_hit(f->d, f->family, map->start, map->end))
		return 0;
	if (!map_file__build_id(file)->size)
		map_build_ids__find(f->cache, pid, map->start, map->end, &file->id, file->name,
				    f->deadline, &file->found);
	return add_hit_file(f, file->name, map_file__build_id(file));
}

/*
 * Put the build id into a record of the window if its pages were hit, as the kernel does with
 * attr.build_id. The id tells apart two files that had the same name one after the other.
 */
static int identify_record(struct finish *f, struct record_mmap2 *r)
{
	const struct map_file_id file = {
		.maj = r->maj,
		.min = r->min,
		.ino = r->ino,
		.ino_generation = r->ino_generation,
	};
	struct needed *n = needed__find(f->d, r->pid);
	struct build_id id = { 0 };

	if (!n || !(r->prot & PROT_EXEC) ||
	    !map_was_hit(f->d, family_of(n)->pid, r->start, r->start + r->len))
		return 0;
	if (r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		id.size = r->build_id_size;
		memcpy(id.data, r->build_id, sizeof(id.data));
	} else if (map_build_ids__find(f->cache, r->pid, r->start, r->start + r->len, &file,
				       r->filename, f->deadline, &id)) {
		r->header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
		r->build_id_size = id.size;
		r->res1 = r->res2 = 0;
		memcpy(r->build_id, id.data, sizeof(r->build_id));
	}
	return add_hit_file(f, r->filename, &id);
}

static int identify_modules(struct finish *f, const struct kernel_maps *modules)
{
	int err = 0;
	size_t i;

	for (i = 0; i < modules->n && !err; i++) {
		const struct kernel_map *m = &modules->v[i];

		if (m->id.size && map_was_hit(f->d, SIDEBAND_KERNEL, m->start, m->start + m->len))
			err = id_table__add(f, true, m->name, &m->id);
	}
	return err;
}

static int identify_all(struct finish *f, const struct kernel_maps *modules)
{
	const struct perf_event_header *h;
	struct needed *n;
	size_t off = 0;
	int err = identify_modules(f, modules);

	for (n = f->d->needed; n && !err; n = n->hh.next) {
		f->family = family_of(n)->pid;
		if (n->emit)
			err = task_model__each_map(f->d->model, n->pid, identify_map, f);
	}
	while (!err && (h = record__next(&f->d->window, &off)))
		if (h->type == PERF_RECORD_MMAP2)
			err = identify_record(f, (struct record_mmap2 *)h); /* our own copy */
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

static int make_build_ids(struct finish *f, const struct kernel_maps *modules,
			  struct sideband_slice *s)
{
	struct build_id kernel;
	const struct id_entry *e;
	int err = identify_all(f, modules);

	if (err)
		return err;
	s->build_ids = calloc(HASH_COUNT(f->ids) + 1, sizeof(*s->build_ids));
	if (!s->build_ids)
		return -ENOMEM;
	if (!build_id__read_kernel(&kernel))
		err = slice__add_build_id(s, &kernel, true, "[kernel.kallsyms]");
	for (e = f->ids; e && !err; e = e->hh.next)
		err = slice__add_build_id(s, &e->id, e->kernel, e->name);
	return err;
}

/* Append COMM, NAMESPACES and MMAP2 of a process, with those of its threads that were requested. */
static int emit_needed(const struct slice_draft *d, uint32_t pid, struct buf *out)
{
	const struct sideband_task *tasks = d->req->tasks;
	_cleanup_free_ uint32_t *tids = NULL;
	size_t first = 0, last = d->req->n_tasks, n = 0;

	if (d->all)
		return task_model__emit_process(d->model, pid, NULL, 0, 0, out);

	while (first < last) { /* the first task whose pid is not lower */
		size_t mid = first + (last - first) / 2;

		if (tasks[mid].pid < pid)
			first = mid + 1;
		else
			last = mid;
	}
	while (first + n < d->req->n_tasks && tasks[first + n].pid == pid)
		n++;
	tids = calloc(n + 1, sizeof(*tids));
	if (!tids)
		return -ENOMEM;
	for (last = 0; last < n; last++)
		tids[last] = tasks[first + last].tid;
	return task_model__emit_process(d->model, pid, tids, n, 0, out);
}

/*
 * Give the records of the base state rising times, the last just before @start. Returns their
 * number.
 */
static size_t set_times(struct buf *b, uint64_t start)
{
	const struct perf_event_header *h;
	uint64_t n = 0, time;
	size_t off = 0;

	while (record__next(b, &off))
		n++;
	time = start > n ? start - n : 1;
	off = 0;
	while ((h = record__next(b, &off))) {
		struct record_trailer *t = (void *)(b->data + off - sizeof(*t));

		t->time = time++;
	}
	return n;
}

static int emit_processes(const struct slice_draft *d, struct buf *out)
{
	const struct needed *first = needed__find(d, d->req->first_pid), *n;
	int err = 0;

	if (first && first->emit)
		err = emit_needed(d, first->pid, out);
	for (n = d->needed; n && !err; n = n->hh.next)
		if (n->emit && n != first)
			err = emit_needed(d, n->pid, out);
	return err;
}

static int make_records(struct slice_draft *d, const struct kernel_maps *text,
			const struct kernel_maps *modules, struct sideband_slice *s)
{
	size_t off = 0;
	int err;

	err = kernel_maps__emit(text, 0, &s->records);
	err = err ?: kernel_maps__emit(modules, 0, &s->records);
	err = err ?: kernel_state__emit(task_model__kernel(d->model), 0, &s->records);
	err = err ?: emit_processes(d, &s->records);
	err = err ?: ksymbol_cover(&s->records, &d->window);
	if (err)
		return err;
	s->n_records = set_times(&s->records, d->req->start);
	while (record__next(&d->window, &off))
		s->n_records++;
	return buf__add(&s->records, d->window.data, d->window.len);
}

int slice_draft__finish(struct slice_draft *d, const struct kernel_maps *text,
			const struct kernel_maps *modules, struct map_build_ids *build_ids,
			struct sideband_slice *s)
{
	struct finish f = { .d = d, .cache = build_ids, .deadline = now_ns() + FILES_WAIT };
	struct id_entry *e, *next;
	int err = make_build_ids(&f, modules, s);

	HASH_ITER (hh, f.ids, e, next) {
		HASH_DEL(f.ids, e);
		free(e);
	}
	return err ?: make_records(d, text, modules, s);
}
