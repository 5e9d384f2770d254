/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers stacks, the same for all recordings that are compared. A stack is a list of functions
 * (functions.h), the innermost first, and the state in which the task left its CPU.
 */
#ifndef FRBPF_ANALYSE_STACKS_H
#define FRBPF_ANALYSE_STACKS_H

#include <stddef.h>
#include <stdint.h>

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
