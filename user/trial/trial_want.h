/* SPDX-License-Identifier: GPL-2.0-only */
/* What a rule needs from recordings: events and their fields. */
#ifndef FRBPF_TRIAL_TRIAL_WANT_H
#define FRBPF_TRIAL_TRIAL_WANT_H

#include "trial/trial.h"

/*
 * Set r->want to the events that the rule needs from recordings, or r->cannot. Binds the fields of
 * its condition to those of the recordings. 0 or negative errno.
 */
int trial_rule__want(struct trial_rule *r);

/* Append a line to r->notes. */
__attribute__((format(printf, 2, 3))) void trial_rule__note(struct trial_rule *r, const char *fmt,
							    ...);

#endif
