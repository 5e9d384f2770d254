/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of ruleset: the keys of a section and how their values are parsed. */
#ifndef FRBPF_RULES_SECTION_H
#define FRBPF_RULES_SECTION_H

#include "rules/ruleset.h"

/* One "key = value" of a section, for its parser. */
struct entry_ctx {
	const struct ruleset *rs;
	const struct source_text *src;
	const struct config_entry *entry;
	struct span value; /* without quotes around the whole value */
	struct diags *d;
};

/* Store the value in @obj. 0, -EINVAL (see ctx->d) or -ENOMEM. */
typedef int (*key_parse_fn)(const struct entry_ctx *ctx, void *obj);

struct section_key {
	const char *name;
	key_parse_fn parse;   /* NULL: planned for a later version */
	const char *required; /* what to write if it is missing; NULL: it is optional */
	bool first;	      /* parsed before the others, at any place */
};

struct section_kind {
	const char *title;		/* "[session-NAME]" */
	const struct section_key *keys; /* ends with name NULL */
};

extern const struct section_kind daemon_section;
extern const struct section_kind session_section;
extern const struct section_kind rule_section;

/*
 * Call the parser of each entry of @s. Unknown, missing and repeated keys are errors. 0, -EINVAL or
 * -ENOMEM.
 */
int section__apply(const struct section_kind *kind, const struct config_section *s,
		   const struct ruleset *rs, struct diags *d, void *obj);

/* Parse a duration of at most @max ns. */
int entry__duration(const struct entry_ctx *ctx, uint64_t max, uint64_t *ret);
/* Parse "yes" or "no". */
int entry__yes(const struct entry_ctx *ctx, bool *ret);
/* Get the value as perf reads it, owned by the caller. */
int entry__string(const struct entry_ctx *ctx, char **ret);

/* Call this when all keys of a session are parsed. */
void session_conf__finish(struct session_conf *s);
/* Add the default sessions: evidence, and cycles of all CPUs. 0 or -ENOMEM. */
int session_conf__add_defaults(struct ruleset *rs);

/*
 * Init, then finish when all keys are parsed: checks keys against each other. 0, -EINVAL or
 * -ENOMEM.
 */
void rule_conf__init(struct rule_conf *rule);
int rule_conf__finish(const struct ruleset *rs, struct rule_conf *rule, struct diags *d);
/* Compute the ids of the rule, from its name and its keys. */
void rule_conf__identify(struct rule_conf *rule);
void rule_conf__free(struct rule_conf *rule);

#endif
