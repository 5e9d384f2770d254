/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where tasks ran and where they waited in the windows of incidents, against what was recorded of the run
 * outside of them: the last window, which holds what came later, and the dumps of other incidents.
 */
#ifndef FRBPF_RUN_HOT_STACKS_H
#define FRBPF_RUN_HOT_STACKS_H

#include "run/outcome.h"

/* Fill the stack tables of one incident for each rule that fired, its worst. Reads the dumps, which
 * must still be there; what cannot be read is said in the log and left out. */
void hot_stacks__find(struct outcome *o);

/* Delete what was saved for that alone. */
void hot_stacks__drop_rest(struct outcome *o);

#endif
