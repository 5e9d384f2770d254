/* SPDX-License-Identifier: GPL-2.0-only */
/* A record of one file as it stands in the result. */
#ifndef FRBPF_ANALYSE_MERGE_MERGE_RECORD_H
#define FRBPF_ANALYSE_MERGE_MERGE_RECORD_H

#include "analyse/merge/merge_events.h"

/* When @rec happened, ns; 0: it does not say. */
uint64_t merge_record__time(const struct file_record *rec);

/*
 * Append @rec of @in to @out: a sample with the fields of its event in the result and its new ids,
 * another record with our trailer, and with @time where it has none. 0, -EINVAL (lengths that do not
 * fit, words in @err), -EFBIG (no record is that long; nothing was appended), -ENOMEM.
 */
int merge_record__append(const struct merge_events *m, const struct merge_input *in,
			 const struct file_record *rec, uint64_t time, struct buf *out,
			 struct err *err);

#endif
