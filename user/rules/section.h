/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of ruleset: the keys of a section, and what makes a value of each. */
#ifndef FRBPF_RULES_SECTION_H
#define FRBPF_RULES_SECTION_H

#include "rules/ruleset.h"

/* One key = value of a section, for the function that takes it. */
struct entry_ctx {
	const struct ruleset *rs;
	const struct source_text *src;
	const struct config_entry *entry;
	struct span value; /* without the quotes around the whole of it, if there are any */
	struct diags *d;
};

/* Store the value in @obj. 0, -EINVAL (see ctx->d) or -ENOMEM. */
typedef int (*key_parse_fn)(const struct entry_ctx *ctx, void *obj);

struct section_key {
	const char *name;
	key_parse_fn parse;   /* NULL: of the design, for a later version */
	const char *required; /* NULL, or what to write when it is missing */
	bool first;	      /* read before the others, wherever it stands */
};

struct section_kind {
	const char *title;		/* "[session-NAME]" */
	const struct section_key *keys; /* ends with name NULL */
};

extern const struct section_kind daemon_section;
extern const struct section_kind session_section;
extern const struct section_kind rule_section;

/* Give each entry of @s to its key's function, and see that no key is unknown, missing or there
 * twice. 0, -EINVAL or -ENOMEM. */
int section__apply(const struct section_kind *kind, const struct config_section *s,
		   const struct ruleset *rs, struct diags *d, void *obj);

/* A duration of at most @max in @ret. */
int entry__duration(const struct entry_ctx *ctx, uint64_t max, uint64_t *ret);
/* "yes" or "no". */
int entry__yes(const struct entry_ctx *ctx, bool *ret);
/* The value as perf reads it. */
int entry__string(const struct entry_ctx *ctx, char **ret);

/* When all keys of a session are there. */
void session_conf__finish(struct session_conf *s);
/* The sessions of rules that have none: evidence, and where the CPUs were. 0 or -ENOMEM. */
int session_conf__add_defaults(struct ruleset *rs);

/* When all keys of a rule are there: what follows from several of them. 0, -EINVAL or -ENOMEM. */
void rule_conf__init(struct rule_conf *rule);
int rule_conf__finish(const struct ruleset *rs, struct rule_conf *rule, struct diags *d);
/* Compute its id, of its name and what it says. */
void rule_conf__identify(struct rule_conf *rule);
void rule_conf__free(struct rule_conf *rule);

#endif
