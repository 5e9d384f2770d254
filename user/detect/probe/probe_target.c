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
#include "examine/probe/probe_reader.h"
#include "rules/when_probe.h"

static void free_probe_place(struct probe_place *p)
{
	probe_found__free(&p->found);
	free(p->name);
	if (p->fd >= 0)
		close(p->fd);
}

static int fill_question(const struct probe_target *t, struct examine_probe *ret, struct err *err)
{
	ret->what = t->provider ? EXAMINE_USDT : EXAMINE_FUNCTION;
	ret->latency = t->latency;
	ret->offset = t->offset;
	if (strlen(t->symbol) >= sizeof(ret->symbol) ||
	    strlen(t->provider ?: "") >= sizeof(ret->provider))
		return err_set(err, -ENAMETOOLONG, "the name '%.40s...' is too long", t->symbol);
	strcpy(ret->symbol, t->symbol);
	strcpy(ret->provider, t->provider ?: "");
	return 0;
}

static int fill_place(const struct probe_target *t, const struct probe_file *file,
		      struct probe_place *ret, struct err *err)
{
	struct examine_probe q = { 0 };
	int code = fill_question(t, &q, err);

	if (code)
		return code;
	ret->st = file->st;
	ret->name = strdup(file->name);
	if (!ret->name)
		return err_set(err, -ENOMEM, "out of memory");
	code = probe_file__open(file, err);
	if (code < 0)
		return code;
	ret->fd = code;
	return probe_reader__ask(ret->fd, file->name, &q, PROBE_READ_SECONDS, &ret->found, err);
}

static int add_probe_place(struct probe_target *t, const struct probe_file *file, struct err *err)
{
	struct probe_place place = { .fd = -1 }, *v = NULL;
	int code = fill_place(t, file, &place, err);

	if (!code && t->n_places == PROBE_PLACES_MAX)
		code = err_set(err, -E2BIG,
			       "more than %d files that match %s have this function or probe",
			       PROBE_PLACES_MAX, t->path);
	if (!code)
		v = realloc(t->places, (t->n_places + 1) * sizeof(*v));
	if (v) {
		t->places = v;
		t->places[t->n_places++] = place;
		return 0;
	}
	free_probe_place(&place);
	return code ?: err_set(err, -ENOMEM, "out of memory");
}

static bool is_fatal_place_error(int err)
{
	return err == -ENOMEM || err == -E2BIG || err == -EMFILE || err == -ENFILE;
}

static int find_probe_places(struct probe_target *t, struct err *err)
{
	struct probe_files files = { 0 };
	struct err first = { "" };
	int code = probe_files__find(t->path, &files, err), first_code = 0;

	if (code)
		return code;
	for (size_t i = 0; i < files.n && !code; i++) {
		code = add_probe_place(t, &files.v[i], err);
		if (code && files.searched && !is_fatal_place_error(code)) {
			/* not all files need to have the symbol */
			if (!first_code)
				first = *err;
			first_code = first_code ?: code;
			code = 0;
		}
	}
	if (!code && !t->n_places && files.n > 1)
		code = err_set(err, first_code,
			       "none of the %zu files that running processes have mapped as %s has "
			       "this function or probe; of the first: %s",
			       files.n, t->path, first.msg);
	else if (!code && !t->n_places)
		code = err_set(err, first_code, "%s", first.msg);
	probe_files__free(&files);
	return code;
}

int probe_target__find(enum frbpf_source source, const char *target, struct probe_target **ret,
		       struct err *err)
{
	struct probe_target *t = calloc(1, sizeof(*t));
	struct when_probe p;
	int code = t ? when_probe__split(source, target, &p) : -ENOMEM;

	if (code) {
		free(t);
		return err_set(err, code, "%s", strerror(-code));
	}
	t->path = p.path;
	t->provider = p.provider;
	t->symbol = p.symbol;
	t->offset = p.offset;
	t->latency = p.latency;
	code = find_probe_places(t, err);
	if (code)
		probe_target__free(t);
	else
		*ret = t;
	return code;
}

/* Is it the same file, and was it not written to in between? */
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
		return true; /* nothing better was found: keep what we have */
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
		free_probe_place(&t->places[i]);
	free(t->places);
	free(t->path);
	free(t->provider);
	free(t->symbol);
	free(t);
}
