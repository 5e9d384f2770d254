// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sideband/sideband_core.h"
#include "sideband/slice_draft.h"

/* Ids of the BPF programs that the slice needs. */
struct bpf_list {
	uint32_t *v; /* owned */
	size_t n;
};

static int list_bpf_prog(uint32_t id, void *arg)
{
	struct bpf_list *l = arg;
	uint32_t *v = reallocarray(l->v, l->n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	l->v = v;
	v[l->n++] = id;
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void make_unique(struct bpf_list *l)
{
	size_t i, n = 0;

	if (!l->n)
		return;
	qsort(l->v, l->n, sizeof(*l->v), compare_ids);
	for (i = 0; i < l->n; i++)
		if (!n || l->v[n - 1] != l->v[i])
			l->v[n++] = l->v[i];
	l->n = n;
}

static bool slice__has_btf(const struct sideband_slice *s, uint32_t id)
{
	size_t i;

	for (i = 0; i < s->n_btfs; i++)
		if (s->btfs[i].id == id)
			return true;
	return false;
}

/* Under the lock. */
static int copy_bpf_prog(struct sideband *sb, uint32_t id, struct sideband_slice *s)
{
	const struct buf *body, *btf;
	uint32_t btf_id;
	int err;

	if (!bpf_store__get(sb->bpf, id, &body, &btf_id, &btf))
		return 0;
	err = buf__add(&s->bpf_progs[s->n_bpf_progs], body->data, body->len);
	if (err)
		return err;
	s->n_bpf_progs++;
	if (!btf || slice__has_btf(s, btf_id))
		return 0;
	s->btfs[s->n_btfs].id = btf_id;
	err = buf__add(&s->btfs[s->n_btfs].data, btf->data, btf->len);
	if (!err)
		s->n_btfs++;
	return err;
}

static int slice__add_bpf(struct sideband *sb, const struct slice_draft *d,
			  struct sideband_slice *s)
{
	struct bpf_list l = { 0 };
	int err = slice_draft__each_bpf_prog(d, list_bpf_prog, &l);
	bool has;
	size_t i;

	make_unique(&l);
	s->bpf_progs = calloc(l.n + 1, sizeof(*s->bpf_progs));
	s->btfs = calloc(l.n + 1, sizeof(*s->btfs));
	if (!s->bpf_progs || !s->btfs)
		err = -ENOMEM;
	for (i = 0; i < l.n && !err; i++) {
		sideband__lock(sb);
		has = bpf_store__has(sb->bpf, l.v[i]);
		sideband__unlock(sb);
		if (!has)
			sideband_core__fetch_bpf(sb, l.v[i]);
		sideband__lock(sb);
		err = copy_bpf_prog(sb, l.v[i], s);
		sideband__unlock(sb);
	}
	free(l.v);
	return err;
}

static int slice__fill(struct sideband *sb, struct slice_draft *d, struct sideband_slice *s)
{
	struct kernel_maps modules = { 0 };
	int err = slice__add_bpf(sb, d, s);

	/* the kernel writes no records of modules: read them now */
	err = err ?: kernel_modules__current(&sb->modules, &modules);
	err = err ?: slice_draft__finish(d, &sb->kernel, &modules, sb->build_ids, s);
	kernel_maps__free(&modules);
	return err;
}

int sideband__slice(struct sideband *sb, const struct sideband_request *req, struct err *err,
		    struct sideband_slice **ret)
{
	struct sideband_slice *s = calloc(1, sizeof(*s));
	struct sideband_log_view view;
	struct slice_draft *d = NULL;
	int code = s ? 0 : -ENOMEM;

	if (!code) {
		sideband_core__drain(sb);
		code = sideband_core__pin(sb, &view);
	}
	if (!code) {
		code = slice_draft__new(sb->base, &view, req, sb->opts.all || req->all_tasks, &d);
		sideband__lock(sb);
		s->lost = sb->stats.lost;
		s->rescans = sb->stats.rescans;
		s->incomplete = sb->lost_any || req->start < sb->complete_from ||
				req->start < view.base_time;
		sideband__unlock(sb);
		sideband_core__unpin(sb, &view);
	}
	code = code ?: slice__fill(sb, d, s);
	slice_draft__free(d);
	if (code) {
		sideband_slice__free(s);
		return err_set(err, code, "the side band of the window: %s", strerror(-code));
	}
	*ret = s;
	return 0;
}

static bool has_build_id(const struct sideband_slice *s, const struct sideband_slice *from,
			 size_t i)
{
	for (size_t k = 0; k < s->n_build_ids; k++) {
		if (!strcmp(s->build_ids[k].name, from->build_ids[i].name) &&
		    !memcmp(&s->build_ids[k].id, &from->build_ids[i].id,
			    sizeof(s->build_ids[k].id)))
			return true;
	}
	return false;
}

static bool has_bpf_prog(const struct sideband_slice *s, const struct buf *prog)
{
	for (size_t k = 0; k < s->n_bpf_progs; k++) {
		if (s->bpf_progs[k].len == prog->len &&
		    !memcmp(s->bpf_progs[k].data, prog->data, prog->len))
			return true;
	}
	return false;
}

/* Make room for everything of @from. 0 or -ENOMEM. */
static int slice__grow(struct sideband_slice *s, const struct sideband_slice *from)
{
	void *ids = reallocarray(s->build_ids, s->n_build_ids + from->n_build_ids + 1,
				 sizeof(*s->build_ids));
	void *progs, *btfs;

	if (!ids)
		return -ENOMEM;
	s->build_ids = ids;
	progs = reallocarray(s->bpf_progs, s->n_bpf_progs + from->n_bpf_progs + 1,
			     sizeof(*s->bpf_progs));
	if (!progs)
		return -ENOMEM;
	s->bpf_progs = progs;
	btfs = reallocarray(s->btfs, s->n_btfs + from->n_btfs + 1, sizeof(*s->btfs));
	if (!btfs)
		return -ENOMEM;
	s->btfs = btfs;
	return 0;
}

int sideband_slice__join(struct sideband_slice *s, struct sideband_slice *from)
{
	if (slice__grow(s, from))
		return -ENOMEM;
	for (size_t i = 0; i < from->n_build_ids; i++) {
		if (has_build_id(s, from, i))
			continue;
		memcpy(&s->build_ids[s->n_build_ids++], &from->build_ids[i], sizeof(*s->build_ids));
		from->build_ids[i].name = NULL;
	}
	for (size_t i = 0; i < from->n_bpf_progs; i++) {
		if (has_bpf_prog(s, &from->bpf_progs[i]))
			continue;
		s->bpf_progs[s->n_bpf_progs++] = from->bpf_progs[i];
		from->bpf_progs[i] = (struct buf){ 0 };
	}
	for (size_t i = 0; i < from->n_btfs; i++) {
		if (slice__has_btf(s, from->btfs[i].id))
			continue;
		memcpy(&s->btfs[s->n_btfs++], &from->btfs[i], sizeof(*s->btfs));
		from->btfs[i].data = (struct buf){ 0 };
	}
	s->incomplete |= from->incomplete;
	return 0;
}

void sideband_slice__free(struct sideband_slice *s)
{
	size_t i;

	if (!s)
		return;
	buf__free(&s->records);
	for (i = 0; i < s->n_build_ids; i++)
		free(s->build_ids[i].name);
	free(s->build_ids);
	for (i = 0; i < s->n_bpf_progs; i++)
		buf__free(&s->bpf_progs[i]);
	free(s->bpf_progs);
	for (i = 0; i < s->n_btfs; i++)
		buf__free(&s->btfs[i].data);
	free(s->btfs);
	free(s);
}
