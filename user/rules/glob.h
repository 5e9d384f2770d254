/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Globs on names, as in the kernel's event filters: '*' any bytes, '?' one byte, '[a-z]' one byte
 * of a set, '[!a-z]' or '[^a-z]' one byte outside a set. The whole name must match. '[*]' is a
 * literal star.
 */
#ifndef FRBPF_RULES_GLOB_H
#define FRBPF_RULES_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

/*
 * Compile @pattern into an automaton for BPF. 0 or -EINVAL: a set is not closed, or there are more
 * than FRBPF_GLOB_ELEMENTS elements; *ret_why is the reason. *ret_least: bytes of the shortest name
 * that matches. @ret may be NULL.
 */
int glob__compile(const char *pattern, struct frbpf_glob *ret, size_t *ret_least,
		  const char **ret_why);

enum path_glob {
	PATH_GLOB_EXACT, /* no byte is special */
	PATH_GLOB,
	PATH_GLOB_BELOW, /* also matches paths below one that matches */
};

/*
 * Compile @pattern into an automaton for paths. 0 or -EINVAL as above, for more than GLOB_PATH_MAX
 * elements.
 */
#define GLOB_PATH_MAX (FRBPF_PATH_GLOB_ELEMENTS - 1)
int glob__compile_path(const char *pattern, enum path_glob kind, struct frbpf_path_glob *ret,
		       const char **ret_why);

/* Does the name of @len bytes match? Uses backtracking: the reference for the automaton. */
bool glob__match(const char *pattern, const char *name, size_t len);

#endif
