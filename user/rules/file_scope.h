/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names in a ruleset that was read from several files. The rules of each file mean the sessions of
 * that file, even if these have other names in the ruleset. Internals of ruleset.
 */
#ifndef FRBPF_RULES_FILE_SCOPE_H
#define FRBPF_RULES_FILE_SCOPE_H

#include "rules/ruleset.h"

/* Are two places of @src in different files? */
bool file_scope__differs(const struct source_text *src, struct span a, struct span b);

/*
 * Call this when the last session of @rs was parsed. If another file has an equal session, that one
 * is used for both. Sessions of the same name that record the same are merged too, with the larger
 * ring. If another file has a different session of this name, the last one is renamed to NAME-FILE,
 * with a warning. 0, -EINVAL (see @d) or -ENOMEM.
 */
int file_scope__add_session(struct ruleset *rs, struct diags *d);

/*
 * Find the session that a rule at @at calls @name (of @len bytes, case-insensitive): in the rule's
 * file, or else in any. False: there is none.
 */
bool file_scope__find_session(const struct ruleset *rs, struct span at, const char *name,
			      size_t len, size_t *ret);

/*
 * Does a rule at @at of @src dump session @i by default? It dumps the sessions of its file. If the
 * file has none, it dumps all.
 */
bool file_scope__is_default(const struct ruleset *rs, const struct source_text *src, struct span at,
			    size_t i);

/*
 * Call this when the last rule of @rs was parsed and finished. If another file has an equal rule,
 * the sessions of the last rule are added to that one, and the last rule is dropped. If the two
 * share only the name, the last one is renamed to NAME-FILE, with a warning. 0; 1: dropped; -EINVAL
 * or -ENOMEM.
 */
int file_scope__add_rule(struct ruleset *rs, struct diags *d);

void session_conf__free(struct session_conf *s);

#endif
