// SPDX-License-Identifier: GPL-2.0-only
/* Layout: tools/perf/util/trace-event-info.c and trace-event-read.c; nothing is aligned. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "perfdata/encode.h"
#include "perfdata/tracing_data.h"

static const char magic[] = "\x17\x08\x44tracing0.6"; /* the last NUL is part of it */

static int add_preamble(struct buf *b)
{
	const uint8_t big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const uint8_t long_size = sizeof(long);

	return buf__add(b, magic, sizeof(magic)) ?: buf__add(b, &big_endian, 1) ?:
	       buf__add(b, &long_size, 1) ?: encode__u32(b, sysconf(_SC_PAGESIZE));
}

static int add_sized(struct buf *b, const void *data, size_t len)
{
	return encode__u64(b, len) ?: buf__add(b, data, len);
}

/*
 * Readers refuse an empty header_page. It describes the pages of trace-cmd, which a perf.data file
 * does not have. So without tracefs (then only our markers are tracepoints) the layout in use since
 * Linux 2.6.32 is good enough.
 */
static int add_header_page(struct buf *b, const struct buf *known)
{
	const size_t l = sizeof(long);
	struct buf made = { 0 };
	int err;

	if (known->len)
		return add_sized(b, known->data, known->len);
	err = buf__printf(&made,
			  "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			  "\tfield: local_t commit;\toffset:8;\tsize:%zu;\tsigned:1;\n"
			  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
			  "\tfield: char data;\toffset:%zu;\tsize:%ld;\tsigned:0;\n",
			  l, 8 + l, sysconf(_SC_PAGESIZE) - (long)(8 + l))
		      ?: add_sized(b, made.data, made.len);
	buf__free(&made);
	return err;
}

static int add_tracing_name(struct buf *b, const char *name)
{
	return buf__add(b, name, strlen(name) + 1);
}

static int compare_formats(const void *a, const void *b)
{
	const struct perfdata_attr *x = *(const struct perfdata_attr *const *)a;
	const struct perfdata_attr *y = *(const struct perfdata_attr *const *)b;

	return strcmp(x->format->system, y->format->system) ?:
	       strcmp(x->format->name, y->format->name) ?:
	       (x->attr->config > y->attr->config) - (x->attr->config < y->attr->config);
}

/* The distinct tracepoints of @attrs, sorted; *ret_n: their number. NULL: out of memory. */
static const struct perfdata_attr **sort_tracepoints(const struct perfdata_attr *attrs,
						     size_t n_attrs, size_t *ret_n)
{
	const struct perfdata_attr **v = calloc(n_attrs + 1, sizeof(*v));
	size_t i, n = 0, kept = 0;

	if (!v)
		return NULL;
	for (i = 0; i < n_attrs; i++)
		if (attrs[i].attr->type == PERF_TYPE_TRACEPOINT)
			v[n++] = &attrs[i];
	if (n)
		qsort(v, n, sizeof(*v), compare_formats);
	for (i = 0; i < n; i++)
		if (!kept || compare_formats(&v[kept - 1], &v[i]))
			v[kept++] = v[i];
	*ret_n = kept;
	return v;
}

/* Append u32 n, n systems; each is its name, u32 m, m formats. */
static int add_systems(struct buf *b, const struct perfdata_attr **v, size_t n)
{
	size_t at_systems = b->len, at_events = 0, i;
	uint32_t systems = 0, events = 0;
	int err = encode__u32(b, 0);

	for (i = 0; !err && i < n; i++) {
		const struct perfdata_format *f = v[i]->format;

		if (!i || strcmp(f->system, v[i - 1]->format->system)) {
			err = add_tracing_name(b, f->system);
			if (err)
				break;
			at_events = b->len;
			err = encode__u32(b, 0);
			if (err)
				break;
			systems++;
			events = 0;
		}
		err = add_sized(b, f->text, f->len);
		if (!err)
			encode__set_u32(b, at_events, ++events);
	}
	if (!err)
		encode__set_u32(b, at_systems, systems);
	return err;
}

int tracing_data__encode(const struct perfdata_tracing *t, const struct perfdata_attr *attrs,
			 size_t n_attrs, struct buf *b)
{
	static const struct perfdata_tracing none;
	_cleanup_free_ const struct perfdata_attr **v = NULL;
	size_t n;

	if (!t)
		t = &none;
	if (t->printk_formats.len > UINT32_MAX)
		return -EFBIG;
	v = sort_tracepoints(attrs, n_attrs, &n);
	if (!v)
		return -ENOMEM;
	if (!n)
		return -ENOENT;
	return add_preamble(b) ?: add_tracing_name(b, "header_page") ?:
	       add_header_page(b, &t->header_page) ?:
	       add_tracing_name(b, "header_event") ?:
	       add_sized(b, t->header_event.data, t->header_event.len) ?:
	       encode__u32(b, 0) /* formats of ftrace itself */ ?: add_systems(b, v, n) ?:
	       encode__u32(b, 0) /* kallsyms, no longer kept */ ?:
	       encode__u32(b, t->printk_formats.len) ?:
	       buf__add(b, t->printk_formats.data, t->printk_formats.len) ?:
	       add_sized(b, t->saved_cmdlines.data, t->saved_cmdlines.len);
}
