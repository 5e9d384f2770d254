/* SPDX-License-Identifier: GPL-2.0-only */
/* Rewrites records of one file for the result. */
#ifndef FRBPF_ANALYSE_MERGE_MERGE_RECORD_H
#define FRBPF_ANALYSE_MERGE_MERGE_RECORD_H

#include "analyse/merge/merge_events.h"

/* Time of @rec, ns; 0: it has none. */
uint64_t merge_record__time(const struct file_record *rec);

/*
 * Append @rec of @in to @out. A sample gets the fields of its event in the result and its new ids.
 * Other records get the trailer of frbpf, and @time if they have no time. 0; -EINVAL: lengths do
 * not fit, message in @err; -EFBIG: too long for a record, nothing was appended; -ENOMEM.
 */
int merge_record__append(const struct merge_events *m, const struct merge_input *in,
			 const struct file_record *rec, uint64_t time, struct buf *out,
			 struct err *err);

#endif
