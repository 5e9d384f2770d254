/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Globs on names, as the kernel's event filters have them: '*' any bytes, '?' one byte, '[a-z]' one
 * of a set, '[!a-z]' or '[^a-z]' one not of it. The whole name must fit. '[*]' is a star itself.
 */
#ifndef FRBPF_RULES_GLOB_H
#define FRBPF_RULES_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "frbpf.h"

/*
 * The automaton of @pattern, for BPF. 0, or -EINVAL with the reason in words in *ret_why: a set is
 * not closed, more than FRBPF_GLOB_ELEMENTS elements. *ret_least: bytes of the shortest name that
 * fits. @ret may be NULL.
 */
int glob__compile(const char *pattern, struct frbpf_glob *ret, size_t *ret_least,
		  const char **ret_why);

enum path_glob {
	PATH_GLOB_EXACT, /* no byte is special */
	PATH_GLOB,
	PATH_GLOB_BELOW, /* what lies below a path that fits does, too */
};

/* The automaton of @pattern on paths. -EINVAL as above, for more than GLOB_PATH_MAX elements. */
#define GLOB_PATH_MAX (FRBPF_PATH_GLOB_ELEMENTS - 1)
int glob__compile_path(const char *pattern, enum path_glob kind, struct frbpf_path_glob *ret,
		       const char **ret_why);

/* Does the name of @len bytes fit? By backtracking: what the automaton must answer, too. */
bool glob__match(const char *pattern, const char *name, size_t len);

#endif
