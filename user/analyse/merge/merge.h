/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One perf.data file from several: the records of all of them in the order of time. What stands in
 * more than one file, because windows overlap, is in the result once.
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
	bool replace;		    /* @out if it is there, once the new file is whole */
	const char *const *cmdline; /* NULL terminated; what the new file says it was made by */
};

struct merge_result {
	uint64_t records; /* written */
	uint64_t doubles; /* left out: another file had them */
	uint64_t refused; /* left out: perf would choke on them */
	uint64_t bytes;	  /* of the new file */
	size_t events;	  /* attributes */
};

/*
 * -EINVAL: the files are of different machines, kernels or clocks, one is damaged, or has records
 * without times. -EEXIST: @req->out is there, and not to be replaced. Else the errno of reading or writing. Words in @err;
 * nothing is left behind.
 */
int merge__files(const struct merge_request *req, struct err *err, struct merge_result *ret);

#endif
