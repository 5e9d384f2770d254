/* SPDX-License-Identifier: GPL-2.0-only */
/* Attrs as a file holds them: checked to be read alike, cleared of what means nothing outside of
 * their process. */
#ifndef FRBPF_PERFDATA_FILE_ATTR_H
#define FRBPF_PERFDATA_FILE_ATTR_H

#include "perfdata/writer.h"

struct file_attrs {
	struct perfdata_attr *v;	/* owned; names, ids and formats are those of the caller */
	struct perf_event_attr *copies; /* owned: what v[].attr points to */
	size_t n;
};

/* -EINVAL, with words, for attrs whose records readers would not parse alike (the trailer and the
 * front of a sample must be those of record.h), or for a tracepoint without the format that its
 * config names. */
int file_attrs__init(struct file_attrs *fa, const struct perfdata_attr *attrs, size_t n,
		     struct err *err);
void file_attrs__free(struct file_attrs *fa);

#endif
