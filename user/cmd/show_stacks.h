/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the subject of a trigger was, for people. */
#ifndef FRBPF_CMD_SHOW_STACKS_H
#define FRBPF_CMD_SHOW_STACKS_H

#include <jansson.h>

/* Print "stacks" of a manifest's trigger, the innermost frames of each; NULL or null: nothing. Its texts are
 * printable already. */
void show_stacks__print(const json_t *stacks);

/*
 * Print the last stack before @trigger that each of @sessions ("sessions" of a manifest) has of its subject with the
 * stack's memory (--call-graph dwarf), unwound. Reads their files.
 */
void show_stacks__print_unwound(const json_t *trigger, const json_t *sessions);

#endif
