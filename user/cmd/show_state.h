/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the state of a trigger's subject, and of the machine. The strings must be printable. */
#ifndef FRBPF_CMD_SHOW_STATE_H
#define FRBPF_CMD_SHOW_STATE_H

#include <jansson.h>

/*
 * Print the `state` of a trigger: who the subject is, how it is scheduled, what limits it. NULL:
 * nothing.
 */
void show_state__print(const json_t *state);

/* Print the `vitals`: the state of the machine around @time, ns. NULL: nothing. */
void show_state__print_vitals(const json_t *vitals, json_int_t time);

#endif
