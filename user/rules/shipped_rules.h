/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules files that come with frbpf, by name: "@latency". */
#ifndef FRBPF_RULES_SHIPPED_RULES_H
#define FRBPF_RULES_SHIPPED_RULES_H

#include <limits.h>

#include "common/err.h"

/*
 * The path that @arg, a path or "@NAME", stands for. Names are looked for beside the program as it was
 * built (configs/) or installed (../share/frbpf). 0, or -ENOENT with the names there are in @err.
 */
int shipped_rules__path(const char *arg, char ret[static PATH_MAX], struct err *err);

#endif
