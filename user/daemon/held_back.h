/* SPDX-License-Identifier: GPL-2.0-only */
/* How many triggers of a rule were held back, and what by, as status and reports tell it. */
#ifndef FRBPF_DAEMON_HELD_BACK_H
#define FRBPF_DAEMON_HELD_BACK_H

#include <jansson.h>

#include "frbpf.h"

/* {"cooldown": 3, ...}, owned by the caller; NULL: out of memory. */
json_t *held_back__json(const struct frbpf_rule_state *st);

#endif
