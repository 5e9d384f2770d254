/* SPDX-License-Identifier: GPL-2.0-only */
/* Groups incidents by the verdict of `frbpf why`: few lines for many dumps. */
#ifndef FRBPF_CMD_LS_CAUSES_H
#define FRBPF_CMD_LS_CAUSES_H

#include <stdbool.h>

#include "cmd/incident_list.h"

/*
 * Print one line per cause of the incidents in @v, the rarest first; @json: as an array. Returns
 * the exit status.
 */
int ls_causes__print(const struct incident_list *v, bool json);

#endif
