/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compares where tasks ran and waited in the windows of incidents with the rest of the run. The
 * rest is the last window, which is recorded later, and the dumps of other incidents.
 */
#ifndef FRBPF_RUN_HOT_STACKS_H
#define FRBPF_RUN_HOT_STACKS_H

#include "run/outcome.h"

/*
 * Fill the stack tables of the worst incident of each rule that fired. Reads the dumps, which must
 * still exist. Dumps that cannot be read are logged and left out.
 */
void hot_stacks__find(struct outcome *o);

/* Delete the dumps that were saved only for this comparison. */
void hot_stacks__drop_rest(struct outcome *o);

#endif
