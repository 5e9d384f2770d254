/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The syntax of perf's configuration file, nothing of its meaning: sections, keys, values, places.
 * perf-compatible: section and key names are lower-cased, # and ; begin a comment outside double
 * quotes, a backslash at the end of a line continues it, [section "sub"] and [section] are both
 * legal. Values are kept raw (quotes and all): each key's owner decides what they mean.
 */
#ifndef FRBPF_RULES_CONFIG_H
#define FRBPF_RULES_CONFIG_H

#include "rules/diag.h"

struct config_entry {
	char *key; /* lower case; owned */
	struct span key_span;
	struct span value; /* raw, in the source: no comment, no blanks at the ends; a continued
			    * line's backslash and newline are inside and count as a blank; len 0:
			    * empty. A key without '=' has value.len 0 and has_value false. */
	bool has_value;
};

struct config_section {
	char *name; /* lower case, e.g. "daemon", "session-cycles", "rule-runq-spike"; owned */
	struct span span;	      /* of the name, without brackets */
	struct config_entry *entries; /* owned */
	size_t n_entries;
	bool damaged; /* a line of it was a syntax error: a key that seems missing may be there */
};

struct config {
	struct source_text *src;	 /* owned */
	struct config_section *sections; /* owned, in the order of the file */
	size_t n_sections;
	struct config_entry *includes; /* `include` before any section; owned */
	size_t n_includes;
	bool damaged; /* a section's first line was a syntax error: a whole section may be missing
		       */
};

/* Parse @src, which the config takes over; on failure @d keeps it. Syntax errors go to @d, all of
 * them. 0, -EINVAL (see @d) or -ENOMEM; *ret is set only on 0. */
int config__parse(struct source_text *src, struct diags *d, struct config **ret);
/* The same for those who go on to check the meaning of what could be understood: syntax errors go
 * to @d, what they spoil is marked as damaged, and *ret is set. 0 or -ENOMEM. */
int config__parse_damaged(struct source_text *src, struct diags *d, struct config **ret);
void config__free(struct config *c);

/* The value as perf's own parser gives it: double quotes removed, \t \b \n \\ \" resolved, runs of
 * blanks outside quotes made one blank. Owned by the caller. NULL: out of memory. */
char *config__perf_value(const struct config *c, const struct config_entry *e);

#endif
