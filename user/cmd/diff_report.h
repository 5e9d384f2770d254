/* SPDX-License-Identifier: GPL-2.0-only */
/* What `frbpf diff` says, as text and as JSON. */
#ifndef FRBPF_CMD_DIFF_REPORT_H
#define FRBPF_CMD_DIFF_REPORT_H

#include <jansson.h>
#include <stdbool.h>

#include "analyse/profile_diff.h"

struct diff_options {
	size_t limit; /* rows of each table; 0: all */
	enum change_order order;
	bool json, verbose;
};

/* Print one session's changes. *ret_differs: becomes true when there are some. 0 or -ENOMEM. */
int diff_text__session(const char *name, const struct profile *a, const struct profile *b,
		       const struct diff_options *opts, bool *ret_differs);

/* The same as an object; the caller's. NULL: out of memory. */
json_t *diff_json__session(const char *name, const struct profile *a, const struct profile *b,
			   const struct diff_options *opts);
/* A text that need not be UTF-8. */
json_t *diff_json__text(const char *s);

/* Names of events that A or B has samples of, A's first: NULL terminated; free it, not the names.
 * NULL: out of memory. */
const char **diff_event_names(const struct profile *a, const struct profile *b);

#endif
