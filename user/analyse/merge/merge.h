/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Merges perf.data files into one, in the order of time. Windows may overlap: a record that is in
 * several files is written once.
 */
#ifndef FRBPF_ANALYSE_MERGE_MERGE_H
#define FRBPF_ANALYSE_MERGE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct merge_request {
	const char *const *paths; /* of the files to merge */
	size_t n_paths;
	const char *out;	    /* path of the new file */
	bool replace;		    /* replace an existing @out, once the new file is complete */
	const char *const *cmdline; /* NULL-terminated; the command line recorded in the new file */
};

struct merge_result {
	uint64_t records; /* written */
	uint64_t doubles; /* left out: duplicates from another file */
	uint64_t refused; /* left out: perf could not read them */
	uint64_t bytes;	  /* of the new file */
	size_t events;	  /* attributes */
};

/*
 * Merge the files. -EINVAL: they are from different machines, kernels or clocks, one is damaged, or
 * has records without times. -EEXIST: @req->out exists and may not be replaced. Otherwise the errno
 * of reading or writing. Message in @err; on failure nothing is left behind.
 */
int merge__files(const struct merge_request *req, struct err *err, struct merge_result *ret);

#endif
