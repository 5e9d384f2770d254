/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the result of `frbpf diff`, as text and as JSON. */
#ifndef FRBPF_ANALYSE_DIFF_REPORT_H
#define FRBPF_ANALYSE_DIFF_REPORT_H

#include <jansson.h>
#include <stdbool.h>

#include "analyse/profile_diff.h"

struct diff_options {
	size_t limit; /* rows of each table; 0: all */
	enum change_order order;
	bool json, verbose;
};

/* Print the changes of one session. Sets *ret_differs to true if there are any. 0 or -ENOMEM. */
int diff_text__session(const char *name, const struct profile *a, const struct profile *b,
		       const struct diff_options *opts, bool *ret_differs);

/* The same as a JSON object, owned by the caller. NULL: out of memory. */
json_t *diff_json__session(const char *name, const struct profile *a, const struct profile *b,
			   const struct diff_options *opts);

#endif
