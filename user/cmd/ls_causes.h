/* SPDX-License-Identifier: GPL-2.0-only */
/* Incidents by what `frbpf why` says of them: many dumps, few lines. */
#ifndef FRBPF_CMD_LS_CAUSES_H
#define FRBPF_CMD_LS_CAUSES_H

#include <stdbool.h>

#include "cmd/incidents.h"

/* Print one line for each cause, the rarest first; @json: an array of them. Returns the exit status. */
int ls_causes__print(const struct incidents *v, bool json);

#endif
