// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL then */
#include <uthash.h>

#include "sideband/bpf_store.h"

struct stored_btf {
	UT_hash_handle hh; /* by id */
	uint32_t id, refs;
	struct buf data;
};

struct stored_prog {
	UT_hash_handle hh; /* by id */
	uint32_t id;
	struct buf body;
	struct stored_btf *btf; /* shared; NULL: none */
};

struct bpf_store {
	struct stored_prog *progs;
	struct stored_btf *btfs;
	size_t bytes;
};

int bpf_store__new(struct bpf_store **ret)
{
	struct bpf_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*ret = s;
	return 0;
}

static struct stored_prog *bpf_store__find(const struct bpf_store *s, uint32_t id)
{
	struct stored_prog *p;

	HASH_FIND(hh, s->progs, &id, sizeof(id), p);
	return p;
}

static void stored_btf__put(struct bpf_store *s, struct stored_btf *b)
{
	if (!b || --b->refs)
		return;
	HASH_DEL(s->btfs, b);
	s->bytes -= sizeof(*b) + b->data.cap;
	buf__free(&b->data);
	free(b);
}

static int stored_btf__get(struct bpf_store *s, struct bpf_info *i, struct stored_btf **ret)
{
	struct stored_btf *b = NULL;

	if (i->btf_id)
		HASH_FIND(hh, s->btfs, &i->btf_id, sizeof(i->btf_id), b);
	if (!b && i->btf_id) {
		b = calloc(1, sizeof(*b));
		if (!b)
			return -ENOMEM;
		b->id = i->btf_id;
		HASH_ADD(hh, s->btfs, id, sizeof(b->id), b);
		if (!b->hh.tbl) {
			free(b);
			return -ENOMEM;
		}
		b->data = i->btf;
		i->btf = (struct buf){ 0 };
		s->bytes += sizeof(*b) + b->data.cap;
	}
	if (b)
		b->refs++;
	*ret = b;
	return 0;
}

static void stored_prog__free(struct bpf_store *s, struct stored_prog *p)
{
	HASH_DEL(s->progs, p);
	stored_btf__put(s, p->btf);
	s->bytes -= sizeof(*p) + p->body.cap;
	buf__free(&p->body);
	free(p);
}

void bpf_store__free(struct bpf_store *s)
{
	struct stored_prog *p, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->progs, p, next)
		stored_prog__free(s, p);
	free(s);
}

int bpf_store__add(struct bpf_store *s, struct bpf_info *i)
{
	struct stored_prog *p;
	int err;

	if (bpf_store__has(s, i->id))
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->id = i->id;
	HASH_ADD(hh, s->progs, id, sizeof(p->id), p);
	if (!p->hh.tbl) {
		free(p);
		return -ENOMEM;
	}
	s->bytes += sizeof(*p);
	err = stored_btf__get(s, i, &p->btf);
	if (err) {
		stored_prog__free(s, p);
		return err;
	}
	p->body = i->body;
	i->body = (struct buf){ 0 };
	s->bytes += p->body.cap;
	return 0;
}

void bpf_store__remove(struct bpf_store *s, uint32_t id)
{
	struct stored_prog *p = bpf_store__find(s, id);

	if (p)
		stored_prog__free(s, p);
}

bool bpf_store__has(const struct bpf_store *s, uint32_t id)
{
	return bpf_store__find(s, id);
}

size_t bpf_store__bytes(const struct bpf_store *s)
{
	return sizeof(*s) + s->bytes;
}

bool bpf_store__get(const struct bpf_store *s, uint32_t id, const struct buf **ret_body,
		    uint32_t *ret_btf_id, const struct buf **ret_btf)
{
	const struct stored_prog *p = bpf_store__find(s, id);

	if (!p)
		return false;
	*ret_body = &p->body;
	*ret_btf_id = p->btf ? p->btf->id : 0;
	*ret_btf = p->btf ? &p->btf->data : NULL;
	return true;
}
