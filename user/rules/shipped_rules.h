/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds rules files that are shipped with frbpf, by name: "@latency". */
#ifndef FRBPF_RULES_SHIPPED_RULES_H
#define FRBPF_RULES_SHIPPED_RULES_H

#include <limits.h>

#include "common/err.h"

/*
 * Get the path for @arg, a path or "@NAME". Names are looked up in ../share/frbpf (installed) and
 * configs/ (built), relative to the program. 0, or -ENOENT with the known names in @err.
 */
int shipped_rules__path(const char *arg, char ret[static PATH_MAX], struct err *err);

#endif
