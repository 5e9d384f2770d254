/* SPDX-License-Identifier: GPL-2.0-only */
/* Encodes the section TRACING_DATA: formats of a file's tracepoints, for perf and libtraceevent. */
#ifndef FRBPF_PERFDATA_TRACING_DATA_H
#define FRBPF_PERFDATA_TRACING_DATA_H

#include "perfdata/writer.h"

/*
 * Append the section for the tracepoints in @attrs, each id once. @t NULL: the parts from tracefs
 * are empty, or the usual text if readers require one. 0; -ENOENT: no tracepoint; -EFBIG; -ENOMEM.
 */
int tracing_data__encode(const struct perfdata_tracing *t, const struct perfdata_attr *attrs,
			 size_t n_attrs, struct buf *b);

#endif
