/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Merges perf.data files into one, in the order of time. Windows may overlap: a record that is in
 * several files is written once.
 */
#ifndef FRBPF_ANALYSE_MERGE_MERGE_H
#define FRBPF_ANALYSE_MERGE_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct merge_request {
	const char *const *paths; /* of the files to merge */
	size_t n_paths;
	int fd;			    /* of the new file, empty */
	const char *out;	    /* its path, for messages */
	const char *const *cmdline; /* NULL-terminated; the command line recorded in the new file */
};

struct merge_result {
	uint64_t records; /* written */
	uint64_t doubles; /* left out: duplicates from another file */
	uint64_t refused; /* left out: perf could not read them */
	size_t events;	  /* attributes */
};

/*
 * Merge the files. -EINVAL: they are from different machines, kernels or clocks, one is damaged, or
 * has records without times. Otherwise the errno of reading or writing. Message in @err; the new
 * file is useless then.
 */
int merge__files(const struct merge_request *req, struct err *err, struct merge_result *ret);

#endif
