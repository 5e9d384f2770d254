/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses the syntax of perf's configuration file, not its meaning: sections, keys, values and their
 * places. As in perf, names of sections and keys are lower-cased. # and ; begin a comment outside
 * double quotes. A backslash at the end of a line continues it. [section "sub"] and [section] are
 * both legal. Values are kept raw, quotes and all: the owner of each key decides what they mean.
 */
#ifndef FRBPF_RULES_CONFIG_H
#define FRBPF_RULES_CONFIG_H

#include "rules/diag.h"

struct config_entry {
	char *key; /* lower case; owned */
	struct span key_span;
	/*
	 * the raw text, without comment and outer blanks. A backslash and newline that continue a
	 * line are inside, and count as one blank. len 0: empty. A key without '=' has value.len 0
	 * and has_value false
	 */
	struct span value;
	bool has_value;
};

struct config_section {
	char *name; /* lower case, e.g. "daemon", "session-cycles", "rule-runq-spike"; owned */
	struct span span;	      /* of the name, without brackets */
	struct config_entry *entries; /* owned */
	size_t n_entries;
	/* a line of the section has a syntax error, so a key that seems missing may be there */
	bool damaged;
};

struct config {
	struct source_text *src;	 /* owned */
	struct config_section *sections; /* owned, in the order of the file */
	size_t n_sections;
	struct config_entry *includes; /* `include` before any section; owned */
	size_t n_includes;
	/* the first line of a section has a syntax error, so a whole section may be missing */
	bool damaged;
};

/*
 * Parse @src, which the config owns from then on; on failure @d owns it. All syntax errors go to
 * @d. 0, -EINVAL (see @d) or -ENOMEM.
 */
int config__parse(struct source_text *src, struct diags *d, struct config **ret);
/*
 * The same for callers that also check the meaning of the rest. Syntax errors go to @d, and what
 * they affect is marked as damaged. 0 or -ENOMEM.
 */
int config__parse_damaged(struct source_text *src, struct diags *d, struct config **ret);
void config__free(struct config *c);

/*
 * Get the value as perf's own parser returns it: double quotes removed, \t \b \n \\ \" resolved,
 * each run of blanks outside quotes one blank. Owned by the caller. NULL: out of memory.
 */
char *config__perf_value(const struct config *c, const struct config_entry *e);

#endif
