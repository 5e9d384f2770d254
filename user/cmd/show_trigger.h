/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints a trigger, for `frbpf show` and `frbpf why`: rule and value, where its subject was, the
 * state of task and machine, and which dump to open first.
 */
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

/*
 * Print the `state` of a trigger: who the subject is, how it is scheduled, what limits it. NULL:
 * nothing.
 */
void show_state__print(const json_t *state);

/* Print the `vitals`: the state of the machine around @time, ns. NULL: nothing. */
void show_state__print_vitals(const json_t *vitals, json_int_t time);

/*
 * The session of @manifest, among those with a file, whose events best explain what its first
 * trigger measures. If none does, the first one with a file. Borrowed; NULL: none has a file.
 */
const json_t *next_session(const json_t *manifest);

#endif
