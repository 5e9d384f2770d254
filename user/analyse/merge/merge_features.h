/* SPDX-License-Identifier: GPL-2.0-only */
/* The feature sections of a merged file: what all files have, each thing once. */
#ifndef FRBPF_ANALYSE_MERGE_MERGE_FEATURES_H
#define FRBPF_ANALYSE_MERGE_MERGE_FEATURES_H

#include "analyse/merge/merge_events.h"

struct merge_features;

/* Gather them from @v. -EINVAL for damaged ones, -ENOMEM; words in @err. The files must outlive it. */
int merge_features__new(struct merge_input *v, size_t n, struct err *err,
			struct merge_features **ret);
void merge_features__free(struct merge_features *m); /* NULL is legal */

/* What perfdata__finish() wants, without the command line and the sample times. Borrowed. */
const struct perfdata_features *merge_features__get(const struct merge_features *m);

#endif
