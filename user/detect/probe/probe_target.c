// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "detect/probe/probe_file.h"
#include "detect/probe/probe_target.h"
#include "detect/probe/usdt_note.h"
#include "rules/when_probe.h"

#define INSN_MAX 15 /* bytes */

/* ---- uprobe ---- */

static int find_exits(const struct probe_target *t, struct elf_file *f, const struct func *func,
		      struct probe_func *ret, struct err *err)
{
	struct func_exits exits;
	struct err why;

	if (!t->latency)
		return 0;
	if (func__exits(f, func, &exits, &why))
		return err_set(err, -EINVAL,
			       "%s: how long '%s' takes cannot be measured: %s. Without a "
			       "threshold, its calls can be watched",
			       elf_file__name(f), func->name, why.msg);
	ret->jumps = exits.jumps;
	ret->indirect = exits.indirect;
	ret->n_exits = exits.n;
	for (uint32_t i = 0; i < exits.n; i++) {
		if (elf_file__offset(f, exits.at[i], &ret->exits[i]))
			return err_set(err, -EINVAL, "%s: '%s' returns outside of its code",
				       elf_file__name(f), func->name);
	}
	return 0;
}

/* A probe within an instruction would destroy it. */
static int check_offset(const struct probe_target *t, struct elf_file *f, const struct func *func,
			struct err *err)
{
	const void *code = elf_file__code(f, func->addr, func->size);
	int r;

	if (!t->offset)
		return 0;
	if (!code || t->offset >= func->size)
		return err_set(err, -EINVAL, "%s: '%s' has no +0x%llx: it is %llu bytes long",
			       elf_file__name(f), func->name, (unsigned long long)t->offset,
			       (unsigned long long)func->size);
	r = func_exits__check_boundary(elf_file__machine(f), code, func->size, t->offset);
	return r ? err_set(err, -EINVAL, "%s: no instruction of '%s' begins at +0x%llx",
			   elf_file__name(f), func->name, (unsigned long long)t->offset)
		 : 0;
}

static int add_func(const struct probe_target *t, struct elf_file *f, const struct func *func,
		    struct probe_place *place, struct err *err)
{
	struct probe_func *ret = &place->funcs[place->n_funcs];
	int r;

	ret->name = strdup(func->name);
	if (!ret->name)
		return err_set(err, -ENOMEM, "out of memory");
	place->n_funcs++;
	r = check_offset(t, f, func, err);
	if (!r && elf_file__offset(f, func->addr + t->offset, &ret->offset))
		r = err_set(err, -EINVAL, "%s: '%s' is not code", elf_file__name(f), func->name);
	return r ? r : find_exits(t, f, func, ret, err);
}

static int look_for_symbol(const struct probe_target *t, struct elf_file *f,
			   struct probe_place *place, struct err *err)
{
	struct funcs funcs = { .n = 0 };
	int r;

	if (t->latency && elf_file__is_go(f))
		return err_set(
			err, -EINVAL,
			"%s is a Go program: its stacks move and its calls change threads, so "
			"that the end of a call is not known as such. Without a threshold, "
			"calls can be watched",
			elf_file__name(f));
	r = funcs__find(f, t->symbol, &funcs, err);
	if (r)
		return r;
	place->funcs = calloc(funcs.n, sizeof(*place->funcs));
	if (!place->funcs)
		r = err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < funcs.n && !r; i++)
		r = add_func(t, f, &funcs.v[i], place, err);
	funcs__free(&funcs);
	return r;
}

/* ---- usdt ---- */

struct usdt_search {
	const struct probe_target *target;
	const struct elf_file *file;
	struct probe_place *place;
	struct err *err;
	struct buf others; /* names, for an error */
	uint32_t n_others;
};

static uint32_t count_args(const char *args)
{
	uint32_t n = 0;

	for (const char *p = args; *p; p++)
		n += *p != ' ' && (p == args || p[-1] == ' ');
	return n;
}

static int add_usdt(struct usdt_search *s, const struct elf_usdt *p)
{
	struct probe_place *place = s->place;
	struct probe_usdt found, *v;
	const char *name = elf_file__name(s->file), *bad;
	uint32_t n = count_args(p->args);

	if (place->n_probes == PROBE_USDT_MAX)
		return err_set(s->err, -E2BIG, "%s has %s:%s in more than %d places", name,
			       p->provider, p->name, PROBE_USDT_MAX);
	if (elf_file__usdt_offset(s->file, p, &found.offset, &found.semaphore))
		return err_set(s->err, -EINVAL,
			       "%s: the note of %s:%s says it is outside of its code", name,
			       p->provider, p->name);
	if (usdt_args__parse(p->args, &found.args, &bad))
		return err_set(s->err, -EINVAL,
			       "%s: where an argument of %s:%s is cannot be understood: '%.40s'; "
			       "`frbpf events -v 'usdt:PATH:*'` shows them",
			       name, p->provider, p->name, bad);
	v = realloc(place->probes, (place->n_probes + 1) * sizeof(*v));
	if (!v)
		return err_set(s->err, -ENOMEM, "out of memory");
	place->probes = v;
	v[place->n_probes++] = found;
	if (n > place->n_args)
		place->n_args = n;
	return 0;
}

static int compare_usdt(const struct elf_usdt *p, void *arg)
{
	struct usdt_search *s = arg;
	int r;

	if (!strcmp(p->provider, s->target->provider) && !strcmp(p->name, s->target->symbol))
		return add_usdt(s, p);
	if (s->n_others++ >= 8)
		return 0;
	r = buf__printf(&s->others, "%s%s:%s", s->others.len ? ", " : "", p->provider, p->name);
	return r ? err_set(s->err, r, "out of memory") : 0;
}

static int look_for_usdt(const struct probe_target *t, struct elf_file *f,
			 struct probe_place *place, struct err *err)
{
	struct usdt_search s = { .target = t, .file = f, .place = place, .err = err };
	int r = elf_file__each_usdt(f, compare_usdt, &s);

	if (!r && !place->n_probes && !s.n_others)
		r = err_set(err, -ENOENT, "%s has no static probes", elf_file__name(f));
	else if (!place->n_probes)
		r = err_set(err, -ENOENT, "%s has no static probe '%s:%s'; it has %s%s",
			    elf_file__name(f), t->provider, t->symbol, s.others.data ?: "",
			    s.n_others > 8 ? " ..." : "");
	buf__free(&s.others);
	return r;
}

/* ---- both ---- */

static void free_place(struct probe_place *p)
{
	for (uint32_t i = 0; i < p->n_funcs; i++)
		free(p->funcs[i].name);
	free(p->funcs);
	free(p->probes);
	free(p->name);
	if (p->fd >= 0)
		close(p->fd);
}

static int fill_place(const struct probe_target *t, const struct probe_file *file,
		      struct elf_file *f, struct probe_place *ret, struct err *err)
{
	int r = t->provider ? look_for_usdt(t, f, ret, err) : look_for_symbol(t, f, ret, err);

	if (r)
		return r;
	ret->st = file->st;
	ret->name = strdup(file->name);
	ret->fd = fcntl(elf_file__fd(f), F_DUPFD_CLOEXEC, 3);
	if (!ret->name || ret->fd < 0)
		return err_set(err, ret->name ? -errno : -ENOMEM, "%s: %s", file->name,
			       strerror(ret->name ? errno : ENOMEM));
	return 0;
}

static int add_place(struct probe_target *t, const struct probe_file *file, struct err *err)
{
	struct probe_place place = { .fd = -1 }, *v;
	struct elf_file *f;
	int r = elf_file__open(file->open, file->name, &file->st, &f, err);

	if (r)
		return r;
	r = fill_place(t, file, f, &place, err);
	elf_file__free(f);
	if (!r && t->n_places == PROBE_PLACES_MAX)
		r = err_set(err, -E2BIG, "more than %d files match %s and have it",
			    PROBE_PLACES_MAX, t->path);
	v = r ? NULL : realloc(t->places, (t->n_places + 1) * sizeof(*v));
	if (v) {
		t->places = v;
		t->places[t->n_places++] = place;
		return 0;
	}
	free_place(&place);
	return r ? r : err_set(err, -ENOMEM, "out of memory");
}

static bool is_fatal(int r)
{
	return r == -ENOMEM || r == -E2BIG || r == -EMFILE || r == -ENFILE;
}

static int find_places(struct probe_target *t, struct err *err)
{
	struct probe_files files = { 0 };
	struct err first = { "" };
	int r = probe_files__find(t->path, &files, err), code = 0;

	if (r)
		return r;
	for (size_t i = 0; i < files.n && !r; i++) {
		r = add_place(t, &files.v[i], err);
		if (r && files.searched && !is_fatal(r)) {
			/* not all that match need have it */
			if (!code)
				first = *err;
			code = code ?: r;
			r = 0;
		}
	}
	if (!r && !t->n_places && files.n > 1)
		r = err_set(err, code,
			    "none of %zu files that running processes have mapped as %s "
			    "has it; of the first: %s",
			    files.n, t->path, first.msg);
	else if (!r && !t->n_places)
		r = err_set(err, code, "%s", first.msg);
	probe_files__free(&files);
	return r;
}

int probe_target__find(enum frbpf_source source, const char *target, struct probe_target **ret,
		       struct err *err)
{
	struct probe_target *t = calloc(1, sizeof(*t));
	struct when_probe p;
	int r = t ? when_probe__split(source, target, &p) : -ENOMEM;

	if (r) {
		free(t);
		return err_set(err, r, "%s", strerror(-r));
	}
	t->path = p.path;
	t->provider = p.provider;
	t->symbol = p.symbol;
	t->offset = p.offset;
	t->latency = p.latency;
	r = find_places(t, err);
	if (r)
		probe_target__free(t);
	else
		*ret = t;
	return r;
}

/* Nor written to meanwhile. */
static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool probe_target__is_current(const struct probe_target *t, enum frbpf_source source,
			      const char *target)
{
	struct probe_target *now;
	struct err err;
	bool same;

	if (probe_target__find(source, target, &now, &err))
		return true; /* nothing better is there */
	same = t->n_places == now->n_places;
	for (uint32_t i = 0; same && i < t->n_places; i++) {
		same = false;
		for (uint32_t k = 0; !same && k < now->n_places; k++)
			same = is_same_file(&t->places[i].st, &now->places[k].st);
	}
	probe_target__free(now);
	return same;
}

void probe_target__free(struct probe_target *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n_places; i++)
		free_place(&t->places[i]);
	free(t->places);
	free(t->path);
	free(t->provider);
	free(t->symbol);
	free(t);
}
