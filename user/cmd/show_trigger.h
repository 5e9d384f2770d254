/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a trigger, for `frbpf show` and `frbpf why`: rule, value, time and tasks. */
#ifndef FRBPF_CMD_SHOW_TRIGGER_H
#define FRBPF_CMD_SHOW_TRIGGER_H

#include <jansson.h>

/*
 * Print what a manifest says of trigger @t: rule, value, time, subject, its state, stacks. @what:
 * "fired". The strings must be printable.
 */
void show_trigger__print(const json_t *t, const char *what);

/* Format the duration @key of @o, ns, into @buf, and return it. */
const char *show_duration(const json_t *o, const char *key, char *buf, size_t size);

#endif
