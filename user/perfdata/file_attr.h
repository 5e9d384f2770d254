/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attrs for a file. All must give records that readers parse in the same way. Pointers, which are
 * meaningless outside of their process, are cleared.
 */
#ifndef FRBPF_PERFDATA_FILE_ATTR_H
#define FRBPF_PERFDATA_FILE_ATTR_H

#include "perfdata/writer.h"

struct file_attrs {
	struct perfdata_attr *v;	/* owned; names, ids and formats are borrowed */
	struct perf_event_attr *copies; /* owned; v[].attr points into it */
	size_t n;
};

/*
 * Check and copy @attrs. -EINVAL: the trailer or the front of a sample are not those of record.h,
 * or a tracepoint lacks the format of its config; -ENOMEM. A message is in @err.
 */
int file_attrs__init(struct file_attrs *fa, const struct perfdata_attr *attrs, size_t n,
		     struct err *err);
void file_attrs__free(struct file_attrs *fa);

/*
 * Let @to, the last attr of a file, list the fields with which the samples of all @n attrs @v
 * begin. Perf does not need that: the event of @to has no samples. But go-perf decodes every sample
 * by the last attr, and panics if this attr has a field that the sample lacks.
 */
void file_attr__list_common(struct perf_event_attr *to, const struct perfdata_attr *v, size_t n);

#endif
