/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions by small numbers, the same for all recordings that are compared: a module's name and a
 * symbol's. What has no symbol is one function per module. */
#ifndef FRBPF_ANALYSE_FUNCTIONS_H
#define FRBPF_ANALYSE_FUNCTIONS_H

#include "symbols/symbols.h"

struct functions;

struct function {
	const char *module, *symbol; /* symbol NULL: not known */
	bool kernel;
};

int functions__new(struct functions **ret); /* -ENOMEM */
void functions__free(struct functions *f);  /* NULL is legal */

/* Find or add. 0 or -ENOMEM. */
int functions__id(struct functions *f, const struct location *l, uint32_t *ret);
/* Valid until the next one is added; its texts as long as @f. */
const struct function *functions__get(const struct functions *f, uint32_t id);
size_t functions__n(const struct functions *f);

#endif
