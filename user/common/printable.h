/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes texts that others chose (names of tasks, reasons) safe for terminals and logs. */
#ifndef FRBPF_COMMON_PRINTABLE_H
#define FRBPF_COMMON_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Length of the character at @s, which has @len bytes, at least one. Not printable are: control
 * characters (C0, C1), marks that change the writing direction or are invisible, and invalid UTF-8
 * (RFC 3629), which counts as one byte.
 */
size_t printable__char(const char *s, size_t len, bool *ret_printable);

/* Replace each byte that is not part of a printable character by '?', in place. Returns @s. */
char *make_printable(char *s);

#endif
