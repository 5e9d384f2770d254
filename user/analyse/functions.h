/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers functions, by module and symbol, the same for all recordings that are compared. A module
 * has one function for all addresses without a symbol.
 */
#ifndef FRBPF_ANALYSE_FUNCTIONS_H
#define FRBPF_ANALYSE_FUNCTIONS_H

#include "symbols/symbols.h"

struct functions;

struct function {
	const char *module, *symbol; /* symbol NULL: unknown */
	bool kernel;
};

int functions__new(struct functions **ret); /* -ENOMEM */
void functions__free(struct functions *f);  /* NULL is legal */

/* Find or add. 0 or -ENOMEM. */
int functions__id(struct functions *f, const struct location *l, uint32_t *ret);
/* The result is valid until the next function is added, its strings as long as @f. */
const struct function *functions__get(const struct functions *f, uint32_t id);
size_t functions__n(const struct functions *f);

#endif
