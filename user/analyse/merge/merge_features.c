// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

#include "analyse/merge/merge_features.h"
#include "common/array.h"
#include "perfdata/cursor.h"
#include "perfdata/file_layout.h"

/* Index of a list element, by id or name */
struct list_entry {
	UT_hash_handle hh;
	uint32_t id; /* of a blob */
	size_t at;
};

struct blob_list {
	struct perfdata_blob *v; /* owned; the data are in bodies */
	size_t n, cap;
	struct list_entry *by_id; /* owned */
};

struct merge_features {
	struct perfdata_features f;
	struct host_info *host;
	struct perfdata_tracing tracing;
	struct perfdata_build_id *build_ids;
	size_t n_build_ids, cap_build_ids;
	struct list_entry *by_name; /* of build_ids; owned */
	struct blob_list progs, btfs;
	struct buf *bodies; /* of sections that others point into; owned */
	size_t n_bodies, cap_bodies;
};

static int merge_out_of_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static int copy_blob(const struct file_blob *from, struct buf *to)
{
	return from->len && !to->len ? buf__add(to, from->data, from->len) : 0;
}

static int add_tracing(struct merge_features *m, const struct file_tracing *t)
{
	return copy_blob(&t->header_page, &m->tracing.header_page) ?:
	       copy_blob(&t->header_event, &m->tracing.header_event) ?:
	       copy_blob(&t->printk_formats, &m->tracing.printk_formats) ?:
	       copy_blob(&t->saved_cmdlines, &m->tracing.saved_cmdlines);
}

/* A file replaced between two recordings has two build ids; readers want the newer one. */
static int merge_build_id(struct merge_features *m, const struct file_build_id *id)
{
	struct list_entry *p;

	HASH_FIND_STR(m->by_name, id->name, p);
	if (p) {
		m->build_ids[p->at].id = id->id;
		return 0;
	}
	p = calloc(1, sizeof(*p));
	if (!p || !ARRAY_HAS_ROOM(m->build_ids, m->n_build_ids, m->cap_build_ids, 64)) {
		free(p);
		return -ENOMEM;
	}
	p->at = m->n_build_ids;
	HASH_ADD_KEYPTR(hh, m->by_name, id->name, strlen(id->name), p);
	m->build_ids[m->n_build_ids++] = (struct perfdata_build_id){ id->id, id->kernel, id->name };
	return 0;
}

static int add_blob(struct blob_list *l, const struct perfdata_blob *blob)
{
	struct list_entry *p;

	HASH_FIND(hh, l->by_id, &blob->id, sizeof(blob->id), p);
	if (p)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p || !ARRAY_HAS_ROOM(l->v, l->n, l->cap, 16)) {
		free(p);
		return -ENOMEM;
	}
	p->id = blob->id;
	HASH_ADD(hh, l->by_id, id, sizeof(p->id), p);
	l->v[l->n++] = *blob;
	return 0;
}

static void free_list_entries(struct list_entry *all)
{
	struct list_entry *p, *next;

	HASH_ITER (hh, all, p, next) {
		HASH_DEL(all, p);
		free(p);
	}
}

/*
 * {u32 info_len, u32 data_len, u64 arrays, info, data}; bpf_prog_info begins with {u32 type, u32
 * id}.
 */
static int add_prog(struct merge_features *m, struct cursor *c)
{
	const char *start = c->p;
	uint32_t info_len = cursor__u32(c), data_len = cursor__u32(c);
	struct perfdata_blob blob = { .data = start };
	const char *info;

	cursor__u64(c);
	info = cursor__bytes(c, info_len);
	cursor__bytes(c, data_len);
	if (!info || info_len < 2 * sizeof(uint32_t) || c->bad) {
		c->bad = true;
		return 0;
	}
	memcpy(&blob.id, info + sizeof(uint32_t), sizeof(blob.id));
	blob.len = c->p - start;
	return add_blob(&m->progs, &blob);
}

/* {u32 id, u32 len, data} */
static int add_btf(struct merge_features *m, struct cursor *c)
{
	struct perfdata_blob blob = { .id = cursor__u32(c), .len = cursor__u32(c) };

	blob.data = cursor__bytes(c, blob.len);
	return blob.data ? add_blob(&m->btfs, &blob) : 0;
}

static int add_blobs(struct merge_features *m, struct merge_input *in, unsigned int bit,
		     int (*add)(struct merge_features *m, struct cursor *c), struct err *err)
{
	struct buf body = { 0 };
	struct cursor c;
	uint32_t n;
	int code = perf_file__section(in->file, bit, &body, err);

	if (code)
		return code == -ENOENT ? 0 : code;
	if (!ARRAY_HAS_ROOM(m->bodies, m->n_bodies, m->cap_bodies, 8)) {
		buf__free(&body);
		return merge_out_of_memory(err);
	}
	m->bodies[m->n_bodies++] = body;
	c = cursor__init(body.data, body.len);
	for (n = cursor__u32(&c); n && !code && !c.bad; n--)
		code = add(m, &c);
	if (!code && c.bad)
		return err_set(err, -EINVAL, "%s: section %u is damaged", in->info->path, bit);
	return code ? merge_out_of_memory(err) : 0;
}

/* CLOCKID: u64 resolution. CLOCK_DATA: u32 version, u32 clock, u64 wall clock, u64 clock. */
static int add_clock(struct merge_features *m, struct merge_input *in, struct err *err)
{
	struct buf body = { 0 };
	struct cursor c;
	int code;

	code = perf_file__section(in->file, HEADER_CLOCKID, &body, err);
	if (!code) {
		c = cursor__init(body.data, body.len);
		m->f.clock_resolution = cursor__u64(&c);
		body.len = 0;
		code = perf_file__section(in->file, HEADER_CLOCK_DATA, &body, err);
	}
	if (!code) {
		c = cursor__init(body.data, body.len);
		cursor__u32(&c);
		if (cursor__u32(&c) == CLOCK_MONOTONIC) {
			m->f.realtime = cursor__u64(&c);
			m->f.monotonic = cursor__u64(&c);
		}
	}
	buf__free(&body);
	return code == -ENOENT ? 0 : code;
}

static int merge_file_features(struct merge_features *m, struct merge_input *in, struct err *err)
{
	int code = add_tracing(m, &in->info->tracing);

	for (size_t i = 0; i < in->info->n_build_ids && !code; i++)
		code = merge_build_id(m, &in->info->build_ids[i]);
	if (code)
		return merge_out_of_memory(err);
	return add_blobs(m, in, HEADER_BPF_PROG_INFO, add_prog, err) ?:
	       add_blobs(m, in, HEADER_BPF_BTF, add_btf, err) ?:
	       add_clock(m, in, err);
}

int merge_features__new(struct merge_input *v, size_t n, struct err *err,
			struct merge_features **ret)
{
	struct merge_features *m = calloc(1, sizeof(*m));
	int code;

	if (!m)
		return merge_out_of_memory(err);
	code = host_info__of_file(v[n - 1].file, err, &m->host);
	for (size_t i = 0; i < n && !code; i++)
		code = merge_file_features(m, &v[i], err);
	if (code) {
		merge_features__free(m);
		return code;
	}
	m->f.host = m->host;
	m->f.tracing = &m->tracing;
	m->f.build_ids = m->build_ids;
	m->f.n_build_ids = m->n_build_ids;
	m->f.bpf_progs = m->progs.v;
	m->f.n_bpf_progs = m->progs.n;
	m->f.btfs = m->btfs.v;
	m->f.n_btfs = m->btfs.n;
	*ret = m;
	return 0;
}

const struct perfdata_features *merge_features__get(const struct merge_features *m)
{
	return &m->f;
}

void merge_features__free(struct merge_features *m)
{
	if (!m)
		return;
	host_info__free(m->host);
	buf__free(&m->tracing.header_page);
	buf__free(&m->tracing.header_event);
	buf__free(&m->tracing.printk_formats);
	buf__free(&m->tracing.saved_cmdlines);
	for (size_t i = 0; i < m->n_bodies; i++)
		buf__free(&m->bodies[i]);
	free(m->bodies);
	free_list_entries(m->by_name);
	free_list_entries(m->progs.by_id);
	free_list_entries(m->btfs.by_id);
	free(m->build_ids);
	free(m->progs.v);
	free(m->btfs.v);
	free(m);
}
