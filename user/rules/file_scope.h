/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names in a ruleset that was read from several files: each file's rules speak of that file's
 * sessions, whatever those are called in the whole. Inside of ruleset.
 */
#ifndef FRBPF_RULES_FILE_SCOPE_H
#define FRBPF_RULES_FILE_SCOPE_H

#include "rules/ruleset.h"

/* Are the two places of @src in different files of it? */
bool file_scope__differs(const struct source_text *src, struct span a, struct span b);

/*
 * The last session of @rs was just parsed: one that equals a session of another file is dropped for
 * that, one whose name another file has is renamed to NAME-FILE, with a warning. 0, -EINVAL (see
 * @d) or -ENOMEM.
 */
int file_scope__add_session(struct ruleset *rs, struct diags *d);

/* The session that a rule at @at calls @name (of @len bytes, in any case): one of its own file, or
 * else of any. False: there is none. */
bool file_scope__find_session(const struct ruleset *rs, struct span at, const char *name,
			      size_t len, size_t *ret);

/* Is session @i one of those that a rule at @at of @src dumps by default? Those of its own file, or
 * all when that has none. */
bool file_scope__is_default(const struct ruleset *rs, const struct source_text *src, struct span at,
			    size_t i);

/*
 * The last rule of @rs was just parsed and finished: a rule of another file that is the same gets its
 * sessions, and this one is dropped; one with the same name only is renamed to NAME-FILE, with a
 * warning. 0; 1: dropped; -EINVAL or -ENOMEM.
 */
int file_scope__add_rule(struct ruleset *rs, struct diags *d);

void session_conf__free(struct session_conf *s);

#endif
