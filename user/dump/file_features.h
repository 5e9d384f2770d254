/* SPDX-License-Identifier: GPL-2.0-only */
/* The feature sections of a session's file. */
#ifndef FRBPF_DUMP_FILE_FEATURES_H
#define FRBPF_DUMP_FILE_FEATURES_H

#include "dump/dump.h"
#include "perfdata/features.h"
#include "record/words.h"

struct file_features {		    /* { 0 } is legal to free */
	struct perfdata_features f; /* the caller sets the times of samples, and of the clocks */
	/* private; owned */
	struct perfdata_build_id *ids;
	struct perfdata_blob *progs, *btfs;
	const char **cmdline;
	struct words words;
};

/*
 * Make the features of a file of @s, with the build ids and BPF programs of @slice. They borrow
 * from all arguments. 0 or -ENOMEM; call file_features__free() in both cases.
 */
int file_features__make(struct file_features *ff, const struct dump_env *env,
			const struct session *s, const struct sideband_slice *slice);
void file_features__free(struct file_features *ff);

#endif
