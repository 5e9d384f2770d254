/* SPDX-License-Identifier: GPL-2.0-only */
/* Merges the feature sections of all files; each entry is kept once. */
#ifndef FRBPF_ANALYSE_MERGE_MERGE_FEATURES_H
#define FRBPF_ANALYSE_MERGE_MERGE_FEATURES_H

#include "analyse/merge/merge_events.h"

struct merge_features;

/*
 * Collect the sections from the @n files @v, which must outlive the result. -EINVAL: damaged, or
 * -ENOMEM; message in @err.
 */
int merge_features__new(struct merge_input *v, size_t n, struct err *err,
			struct merge_features **ret);
void merge_features__free(struct merge_features *m); /* NULL is legal */

/* The features for perfdata__finish(), without command line and sample times. Borrowed. */
const struct perfdata_features *merge_features__get(const struct merge_features *m);

#endif
