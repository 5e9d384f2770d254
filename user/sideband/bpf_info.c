// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL then */
#include <uthash.h>

#include "admin/admin.h"
#include "common/cleanup.h"
#include "sideband/bpf_info.h"

/* All readers since perf 5.1 accept this length. Readers reject a section whose info is longer. */
#define INFO_LEN 232
_Static_assert(sizeof(struct bpf_prog_info) >= INFO_LEN, "an older bpf_prog_info");

#define DATA_MAX ((uint64_t)64 << 20)

/* Head of the body: struct perf_bpil in tools/perf/util/bpf-utils.h. */
struct body_head {
	uint32_t info_len, data_len;
	uint64_t arrays;
};

/*
 * The arrays that perf keeps: their bit in body_head.arrays, and where bpf_prog_info has pointer,
 * count and element size (either a member or a constant).
 */
#define MEMBER(m) offsetof(struct bpf_prog_info, m)
enum {
	BIT_JITED_INSNS,
	BIT_JITED_KSYMS = 3,
	BIT_FUNC_LENS,
	BIT_FUNC_INFO,
	BIT_LINE_INFO,
	BIT_JITED_LINE_INFO,
	BIT_PROG_TAGS
};
static const struct array_desc {
	uint8_t bit;
	uint16_t pointer, count;
	uint16_t elem_member; /* 0: elem_size */
	uint16_t elem_size;
} array_descs[] = {
	{ BIT_JITED_INSNS, MEMBER(jited_prog_insns), MEMBER(jited_prog_len), 0, 1 },
	{ BIT_JITED_KSYMS, MEMBER(jited_ksyms), MEMBER(nr_jited_ksyms), 0, 8 },
	{ BIT_FUNC_LENS, MEMBER(jited_func_lens), MEMBER(nr_jited_func_lens), 0, 4 },
	{ BIT_FUNC_INFO, MEMBER(func_info), MEMBER(nr_func_info), MEMBER(func_info_rec_size), 0 },
	{ BIT_LINE_INFO, MEMBER(line_info), MEMBER(nr_line_info), MEMBER(line_info_rec_size), 0 },
	{ BIT_JITED_LINE_INFO, MEMBER(jited_line_info), MEMBER(nr_jited_line_info),
	  MEMBER(jited_line_info_rec_size), 0 },
	{ BIT_PROG_TAGS, MEMBER(prog_tags), MEMBER(nr_prog_tags), 0, BPF_TAG_SIZE },
};
#undef MEMBER

static uint32_t *info_u32(struct bpf_prog_info *info, uint16_t off)
{
	return (uint32_t *)((char *)info + off);
}

static uint64_t *info_u64(struct bpf_prog_info *info, uint16_t off)
{
	return (uint64_t *)((char *)info + off);
}

int bpf_info__next(uint32_t *id)
{
	return admin__next_prog(id);
}

int bpf_info__pin(uint32_t id)
{
	int fd = admin__open_prog(id);

	return fd < 0 ? -1 : fd;
}

/* The kernel's answer, with its arrays in one block. */
struct answer {
	struct bpf_prog_info info;
	char *data; /* owned */
	uint64_t data_len;
	uint64_t arrays;
	uint64_t offset[ARRAY_SIZE(array_descs)];
};

static uint32_t elem_size(struct bpf_prog_info *info, const struct array_desc *d)
{
	return d->elem_member ? *info_u32(info, d->elem_member) : d->elem_size;
}

/* Ask the kernel twice: the first answer has the counts, the second fills the arrays. */
static int ask_program(int fd, struct answer *a)
{
	struct bpf_prog_info counts = { 0 };
	uint32_t len = sizeof(counts);
	size_t i;

	if (bpf_obj_get_info_by_fd(fd, &counts, &len))
		return -errno;
	for (i = 0; i < ARRAY_SIZE(array_descs); i++) {
		const struct array_desc *d = &array_descs[i];
		uint64_t size = (uint64_t)*info_u32(&counts, d->count) * elem_size(&counts, d);

		a->offset[i] = a->data_len;
		if (size)
			a->arrays |= 1ULL << d->bit;
		a->data_len += (size + 7) & ~7ULL;
		if (a->data_len > DATA_MAX)
			return -EFBIG;
	}
	a->data = calloc(1, a->data_len + 8);
	if (!a->data)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(array_descs); i++) {
		const struct array_desc *d = &array_descs[i];

		if (!(a->arrays & 1ULL << d->bit))
			continue;
		*info_u32(&a->info, d->count) = *info_u32(&counts, d->count);
		if (d->elem_member)
			*info_u32(&a->info, d->elem_member) = elem_size(&counts, d);
		*info_u64(&a->info, d->pointer) = (uintptr_t)a->data + a->offset[i];
	}
	len = sizeof(a->info);
	return bpf_obj_get_info_by_fd(fd, &a->info, &len) ? -errno : 0;
}

/* Array @bit of the answer; NULL: it has none. */
static const void *answer__array(const struct answer *a, unsigned int bit)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(array_descs); i++)
		if (array_descs[i].bit == bit)
			return a->arrays & 1ULL << bit ? a->data + a->offset[i] : NULL;
	return NULL;
}

/* Make the body of the section. In it, a pointer is the offset of its array in the data. */
static int make_bpf_info_body(const struct answer *a, struct buf *ret)
{
	struct body_head head = {
		.info_len = INFO_LEN,
		.data_len = a->data_len,
		.arrays = a->arrays,
	};
	struct bpf_prog_info info = a->info;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(array_descs); i++)
		if (a->arrays & 1ULL << array_descs[i].bit)
			*info_u64(&info, array_descs[i].pointer) = a->offset[i];
	err = buf__add(ret, &head, sizeof(head));
	err = err ?: buf__add(ret, &info, INFO_LEN);
	return err ?: buf__add(ret, a->data, a->data_len);
}

static int read_btf(uint32_t id, struct buf *ret)
{
	_cleanup_close_ int fd = admin__open_btf(id);
	struct bpf_btf_info info = { 0 };
	uint32_t len = sizeof(info), size;
	int err;

	if (fd < 0)
		return fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	size = info.btf_size;
	if (!size || size > DATA_MAX)
		return -ENOENT;
	err = buf__add_zero(ret, size);
	if (err)
		return err;
	info = (struct bpf_btf_info){ .btf = (uintptr_t)ret->data, .btf_size = size };
	len = sizeof(info);
	if (bpf_obj_get_info_by_fd(fd, &info, &len)) {
		ret->len = 0;
		return -errno;
	}
	return 0;
}

/*
 * Name of function @i of @n: from BTF; else the program's name, if @n is 1; else "F", as in perf.
 */
static const char *function_name(const struct answer *a, const struct btf *btf, uint32_t i,
				 uint32_t n)
{
	const char *func_info = answer__array(a, BIT_FUNC_INFO);
	const struct btf_type *t;

	if (btf && func_info && i < a->info.nr_func_info &&
	    a->info.func_info_rec_size >= sizeof(struct bpf_func_info)) {
		const struct bpf_func_info *f =
			(const void *)(func_info + (size_t)i * a->info.func_info_rec_size);

		t = btf__type_by_id(btf, f->type_id);
		if (t)
			return btf__name_by_offset(btf, t->name_off);
	}
	return n == 1 ? a->info.name : "F";
}

static int make_symbols(const struct answer *a, struct bpf_info *ret)
{
	const uint64_t *addr = answer__array(a, BIT_JITED_KSYMS);
	const uint32_t *lens = answer__array(a, BIT_FUNC_LENS);
	const uint8_t(*tags)[BPF_TAG_SIZE] = answer__array(a, BIT_PROG_TAGS);
	uint32_t n = a->info.nr_jited_ksyms, i;
	struct btf *btf;

	if (!addr || !lens || !tags || n > a->info.nr_jited_func_lens || n > a->info.nr_prog_tags)
		return 0;
	ret->symbols = calloc(n, sizeof(*ret->symbols));
	if (!ret->symbols)
		return -ENOMEM;
	btf = ret->btf.len ? btf__new(ret->btf.data, ret->btf.len) : NULL;
	for (i = 0; i < n; i++) {
		struct bpf_info_symbol *s = &ret->symbols[ret->n_symbols];
		const char *name = function_name(a, btf, i, n);

		if (!addr[i]) /* hidden by kernel.kptr_restrict */
			continue;
		s->addr = addr[i];
		s->len = lens[i];
		snprintf(s->name, sizeof(s->name), "bpf_prog_%02x%02x%02x%02x%02x%02x%02x%02x%s%s",
			 tags[i][0], tags[i][1], tags[i][2], tags[i][3], tags[i][4], tags[i][5],
			 tags[i][6], tags[i][7], name && *name ? "_" : "", name ? name : "");
		ret->n_symbols++;
	}
	btf__free(btf);
	return 0;
}

int bpf_info__read(uint32_t id, struct bpf_info **ret)
{
	_cleanup_close_ int fd = admin__open_prog(id);
	struct answer a = { 0 };
	struct bpf_info *i;
	int err;

	if (fd < 0)
		return fd;
	i = calloc(1, sizeof(*i));
	if (!i)
		return -ENOMEM;
	err = ask_program(fd, &a);
	if (!err) {
		i->id = id;
		i->btf_id = a.info.btf_id;
		memcpy(i->tag, a.info.tag, sizeof(i->tag));
		err = make_bpf_info_body(&a, &i->body);
	}
	if (!err && i->btf_id && read_btf(i->btf_id, &i->btf))
		i->btf_id = 0;
	err = err ?: make_symbols(&a, i);
	free(a.data);
	if (err) {
		bpf_info__free(i);
		return err;
	}
	*ret = i;
	return 0;
}

void bpf_info__free(struct bpf_info *i)
{
	if (!i)
		return;
	buf__free(&i->body);
	buf__free(&i->btf);
	free(i->symbols);
	free(i);
}

/* ---- programs that were read ---- */

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
