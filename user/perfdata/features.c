// SPDX-License-Identifier: GPL-2.0-only
/* Encodings: the write_*() functions in tools/perf/util/header.c, one per feature. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "perfdata/compressor.h"
#include "perfdata/encode.h"
#include "perfdata/features.h"
#include "perfdata/tracing_data.h"

#define MISC_BUILD_ID_SIZE (1 << 15) /* PERF_RECORD_MISC_BUILD_ID_SIZE: the size byte is valid */

struct source {
	const struct perfdata_features *f;
	const struct perfdata_attr *attrs;
	size_t n_attrs;
};

static int add_tracing_data(const struct source *s, struct buf *b)
{
	return tracing_data__encode(s->f->tracing, s->attrs, s->n_attrs, b);
}

struct build_id_entry {
	struct perf_event_header header; /* type 0 */
	int32_t pid;
	uint8_t data[BUILD_ID_MAX];
	uint8_t size, res[3];
};

_Static_assert(sizeof(struct build_id_entry) == 36, "BUILD_ID layout");

static int encode_build_id(const struct perfdata_build_id *id, struct buf *b)
{
	size_t len = strlen(id->name);
	size_t padded = (len + ENCODE_NAME_ALIGN) / ENCODE_NAME_ALIGN * ENCODE_NAME_ALIGN;
	struct build_id_entry e = {
		.header.misc = MISC_BUILD_ID_SIZE |
			       (id->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER),
		.header.size = sizeof(e) + padded,
		.pid = -1, /* the host, not a guest */
		.size = id->id.size,
	};

	if (!id->id.size || len >= PATH_MAX) /* readers have a buffer of PATH_MAX */
		return 0;
	memcpy(e.data, id->id.data, sizeof(e.data));
	return buf__add(b, &e, sizeof(e)) ?: buf__add(b, id->name, len) ?:
	       buf__add_zero(b, padded - len);
}

static int add_build_ids(const struct source *s, struct buf *b)
{
	size_t start = b->len, i;
	int err = 0;

	for (i = 0; !err && i < s->f->n_build_ids; i++)
		err = encode_build_id(&s->f->build_ids[i], b);
	if (!err && b->len == start)
		err = -ENOENT;
	return err;
}

static int add_cmdline(const struct source *s, struct buf *b)
{
	const char *const *argv = s->f->cmdline;
	uint32_t n = 0, i;
	int err;

	if (!argv)
		return -ENOENT;
	while (argv[n])
		n++;
	err = encode__u32(b, n);
	for (i = 0; !err && i < n; i++)
		err = encode__string(b, argv[i]);
	return err;
}

static int add_event_desc(const struct source *s, struct buf *b)
{
	int err = encode__u32(b, s->n_attrs) ?: encode__u32(b, FILE_ATTR_SIZE);
	size_t i;

	for (i = 0; !err && i < s->n_attrs; i++) {
		const struct perfdata_attr *a = &s->attrs[i];

		err = buf__add(b, a->attr, FILE_ATTR_SIZE) ?: encode__u32(b, a->n_ids) ?:
		      encode__string(b, a->name) ?: buf__add(b, a->ids, a->n_ids * sizeof(*a->ids));
	}
	return err;
}

static int add_groups(const struct source *s, struct buf *b)
{
	uint32_t n = 0;
	int err;

	for (size_t i = 0; i < s->n_attrs; i++)
		n += s->attrs[i].group_members > 1;
	if (!n)
		return -ENOENT;
	err = encode__u32(b, n);
	for (size_t i = 0; !err && i < s->n_attrs; i++) {
		const struct perfdata_attr *a = &s->attrs[i];

		if (a->group_members > 1)
			err = encode__string(b, a->group_name ?: "{anon_group}")
				      ?: encode__u32(b, i) ?: encode__u32(b, a->group_members);
	}
	return err;
}

static int add_sample_time(const struct source *s, struct buf *b)
{
	return encode__u64(b, s->f->first_sample) ?: encode__u64(b, s->f->last_sample);
}

static int add_clockid(const struct source *s, struct buf *b)
{
	return s->f->clock_resolution ? encode__u64(b, s->f->clock_resolution) : -ENOENT;
}

static int add_clock_data(const struct source *s, struct buf *b)
{
	if (!s->f->realtime)
		return -ENOENT;
	return encode__u32(b, 1 /* version */) ?: encode__u32(b, CLOCK_MONOTONIC) ?:
	       encode__u64(b, s->f->realtime) ?: encode__u64(b, s->f->monotonic);
}

/* The caller's data of a program already begin with info_len and data_len. */
static int add_bpf_progs(const struct source *s, struct buf *b)
{
	int err = encode__u32(b, s->f->n_bpf_progs);
	size_t i;

	for (i = 0; !err && i < s->f->n_bpf_progs; i++)
		err = buf__add(b, s->f->bpf_progs[i].data, s->f->bpf_progs[i].len);
	return err;
}

static int add_btfs(const struct source *s, struct buf *b)
{
	int err = encode__u32(b, s->f->n_btfs);
	size_t i;

	for (i = 0; !err && i < s->f->n_btfs; i++) {
		const struct perfdata_blob *btf = &s->f->btfs[i];

		err = encode__u32(b, btf->id) ?: encode__u32(b, btf->len) ?:
		      buf__add(b, btf->data, btf->len);
	}
	return err;
}

static int add_compressed(const struct source *s, struct buf *b)
{
	const struct compressor_facts *c = s->f->compressed;

	if (!c)
		return -ENOENT;
	return encode__u32(b, 1 /* version */) ?: encode__u32(b, 1 /* PERF_COMP_ZSTD */) ?:
	       encode__u32(b, c->level) ?: encode__u32(b, c->ratio) ?:
	       encode__u32(b, c->piece_bytes);
}

/* By bit; NULL: a section of the host. */
static int (*const encoders[HEADER_BITS])(const struct source *s, struct buf *b) = {
	[HEADER_TRACING_DATA] = add_tracing_data, [HEADER_BUILD_ID] = add_build_ids,
	[HEADER_CMDLINE] = add_cmdline,		  [HEADER_EVENT_DESC] = add_event_desc,
	[HEADER_SAMPLE_TIME] = add_sample_time,	  [HEADER_CLOCKID] = add_clockid,
	[HEADER_BPF_PROG_INFO] = add_bpf_progs,	  [HEADER_BPF_BTF] = add_btfs,
	[HEADER_CLOCK_DATA] = add_clock_data,	  [HEADER_COMPRESSED] = add_compressed,
	[HEADER_GROUP_DESC] = add_groups,
};

static int add_host_section(unsigned int bit, const struct source *s, struct buf *b)
{
	const struct buf *body = s->f->host ? host_info__section(s->f->host, bit) : NULL;

	return body ? buf__add(b, body->data, body->len) : -ENOENT;
}

int features__encode(unsigned int bit, const struct perfdata_features *f,
		     const struct perfdata_attr *attrs, size_t n_attrs, struct buf *b)
{
	const struct source s = { .f = f, .attrs = attrs, .n_attrs = n_attrs };
	size_t start = b->len;
	int err;

	if (bit >= HEADER_BITS)
		return -ENOENT;
	err = encoders[bit] ? encoders[bit](&s, b) : add_host_section(bit, &s, b);
	if (err)
		b->len = start;
	return err;
}
