/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints where the subject of a trigger was: the stacks in manifests, and those in dumps. */
#ifndef FRBPF_CMD_SHOW_STACKS_H
#define FRBPF_CMD_SHOW_STACKS_H

#include <jansson.h>

/*
 * Print "stacks" of a trigger, the innermost frames of each; NULL or null: nothing. The strings
 * must be printable.
 */
void show_stacks__print(const json_t *stacks);

/*
 * Print the last stack of the subject before @trigger, unwound, for each of @sessions ("sessions"
 * of a manifest) recorded with stack memory (--call-graph dwarf). Reads their files.
 */
void show_stacks__print_unwound(const json_t *trigger, const json_t *sessions);

#endif
