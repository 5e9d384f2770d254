/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers functions and stacks, the same for all recordings that are compared. */
#ifndef FRBPF_ANALYSE_STACKS_H
#define FRBPF_ANALYSE_STACKS_H

#include "symbols/symbols.h"

/*
 * Functions, by module and symbol. A module has one function for all addresses without a symbol.
 */
struct functions;

struct function {
	const char *module, *symbol; /* symbol NULL: unknown */
	bool kernel;
};

int functions__new(struct functions **ret); /* -ENOMEM */
void functions__free(struct functions *f);  /* NULL is legal */

/* Find or add. 0 or -ENOMEM. */
int functions__id(struct functions *f, const struct location *l, uint32_t *ret);
/* The result is valid until the next function is added, its strings until @f is freed. */
const struct function *functions__get(const struct functions *f, uint32_t id);
size_t functions__n(const struct functions *f);

/*
 * Stacks: a list of functions, the innermost first, and the state in which the task left its CPU.
 */
struct stacks;

/* In place of the state, for stacks of tasks that ran */
#define STACK_ON_CPU UINT32_MAX

struct stack {
	uint32_t state; /* prev_state of sched:sched_switch */
	uint32_t n;
	uint32_t functions[]; /* ids */
};

int stacks__new(struct stacks **ret); /* -ENOMEM */
void stacks__free(struct stacks *s);  /* NULL is legal */

/* Find or add. 0 or -ENOMEM. */
int stacks__id(struct stacks *s, uint32_t state, const uint32_t *functions, size_t n,
	       uint32_t *ret);
const struct stack *stacks__get(const struct stacks *s, uint32_t id);
size_t stacks__n(const struct stacks *s);

#endif
