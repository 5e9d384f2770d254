/* SPDX-License-Identifier: GPL-2.0-only */
/* The TRACING_DATA section: formats of the tracepoints in a file, as `perf` and libtraceevent read
 * them. */
#ifndef FRBPF_PERFDATA_TRACING_DATA_H
#define FRBPF_PERFDATA_TRACING_DATA_H

#include "perfdata/writer.h"

/* Append the section for the tracepoints among @attrs, each id once. @t may be NULL: then the parts
 * that come from tracefs are empty or, where readers insist on one, the usual one. 0, -ENOENT: no
 * tracepoint, -EFBIG or -ENOMEM. */
int tracing_data__encode(const struct perfdata_tracing *t, const struct perfdata_attr *attrs,
			 size_t n_attrs, struct buf *b);

/* The number of its "ID:" line, by which readers find the format of an attr. 0 or -EINVAL. */
int tracing_data__format_id(const struct perfdata_format *f, uint64_t *ret);

#endif
